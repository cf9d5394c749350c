/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a connection whose client is cut off. The connections have no sockets.
 */
#include "http/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os.h"

enum { WORKERS = 9 }; /* of which one may answer a large page */

struct fixture {
	struct waker *waker;
	struct dispatch *dispatch;
	struct connection *answered, *waiting;
};

static struct connection *large_request(void)
{
	static const struct client_address address;
	struct connection *connection = connection_new(SOCKET_NONE, &address);

	assert_non_null(connection);
	connection->is_large = connection->keep = true;
	return connection;
}

/* A worker answers a request for a large page, and another request waits for it. */
static int begin(void **state)
{
	static struct fixture fixture;
	struct error err;

	assert_true(sockets_start(&err));
	fixture.waker = waker_new(&err);
	assert_non_null(fixture.waker);
	fixture.dispatch = dispatch_new(WORKERS, 0, fixture.waker, &err);
	assert_non_null(fixture.dispatch);
	fixture.answered = large_request();
	fixture.waiting = large_request();
	dispatch_add(fixture.dispatch, fixture.answered);
	assert_ptr_equal(dispatch_next(fixture.dispatch), fixture.answered);
	dispatch_add(fixture.dispatch, fixture.waiting);
	*state = &fixture;
	return 0;
}

static int end(void **state)
{
	struct fixture *fixture = *state;

	connection_free(fixture->answered, false);
	connection_free(fixture->waiting, false);
	dispatch_free(fixture->dispatch);
	waker_free(fixture->waker);
	sockets_stop();
	return 0;
}

static void give_back(struct fixture *fixture)
{
	fixture->answered->answered = true;
	dispatch_give_back(fixture->dispatch, fixture->answered);
	assert_ptr_equal(dispatch_returned(fixture->dispatch), fixture->answered);
}

static void a_connection_that_is_not_cut_off_is_kept(void **state)
{
	struct fixture *fixture = *state;

	assert_true(dispatch_relieve(fixture->dispatch, os_monotonic_ns())); /* it does not wait */
	give_back(fixture);
	assert_true(fixture->answered->keep);
	assert_ptr_equal(dispatch_next(fixture->dispatch), fixture->waiting);
}

/* The client takes the last bytes in the moment in which it is cut off: our side has ended behind
 * them, so that the answer is whole, but no other one can follow. */
static void a_connection_that_is_cut_off_behind_its_answer_is_not_kept(void **state)
{
	struct fixture *fixture = *state;

	atomic_store(&fixture->answered->waits, true);
	atomic_store(&fixture->answered->bytes_per_s, 1000);
	assert_true(dispatch_relieve(fixture->dispatch, os_monotonic_ns()));
	assert_true(atomic_load(&fixture->answered->cut));
	give_back(fixture);
	assert_false(fixture->answered->failed);
	assert_false(fixture->answered->keep);
	assert_ptr_equal(dispatch_next(fixture->dispatch), fixture->waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_connection_that_is_not_cut_off_is_kept, begin,
						end),
		cmocka_unit_test_setup_teardown(
			a_connection_that_is_cut_off_behind_its_answer_is_not_kept, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
