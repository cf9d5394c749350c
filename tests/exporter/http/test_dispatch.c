/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a connection whose client is cut off, which request is answered next, and by
 * whom. The connections have no sockets.
 */
#include "exporter/http/dispatch.h"

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
	struct etw_error err;

	assert_true(sockets_start(&err));
	fixture.waker = waker_new(&err);
	assert_non_null(fixture.waker);
	fixture.dispatch = dispatch_new(WORKERS, 0, 0, fixture.waker, &err);
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
	dispatch_return(fixture->dispatch, fixture->answered);
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

/* A request whose password must be hashed first holds no place of a scrape meanwhile. */
static void a_request_that_counts_as_small_makes_room_for_a_large_one(void **state)
{
	struct fixture *fixture = *state;

	dispatch_not_large(fixture->dispatch, fixture->answered);
	assert_false(dispatch_relieve(fixture->dispatch, os_monotonic_ns()));
	assert_ptr_equal(dispatch_next(fixture->dispatch), fixture->waiting);
	give_back(fixture);
	fixture->answered->is_large = true;
	dispatch_add(fixture->dispatch, fixture->answered);
	assert_true(dispatch_relieve(fixture->dispatch, os_monotonic_ns())); /* it waits again */
}

/* Those who read slowly use no processor, so that no one must wait for them. */
static void a_page_that_waits_for_its_client_lets_another_one_begin(void **state)
{
	static const struct client_address address;
	struct connection *large[2] = { large_request(), large_request() };
	struct connection *small = connection_new(SOCKET_NONE, &address);
	struct etw_error err;
	struct waker *waker;
	struct dispatch *dispatch;

	(void)state;
	assert_true(sockets_start(&err));
	waker = waker_new(&err);
	assert_true(small && waker);
	dispatch = dispatch_new(20, 0, 1, waker, &err);
	assert_non_null(dispatch);
	dispatch_add(dispatch, large[0]);
	assert_ptr_equal(dispatch_next(dispatch), large[0]);
	dispatch_add(dispatch, large[1]);
	dispatch_add(dispatch, small);
	assert_ptr_equal(dispatch_next(dispatch), small); /* the large one may not begin yet */
	atomic_store(&large[0]->waits, true);
	assert_false(dispatch_relieve(dispatch, os_monotonic_ns())); /* no one is cut off */
	assert_ptr_equal(dispatch_next(dispatch), large[1]);
	connection_free(large[0], false);
	connection_free(large[1], false);
	connection_free(small, false);
	dispatch_free(dispatch);
	waker_free(waker);
	sockets_stop();
}

/* Where the system allows few threads, large pages are answered, too, but not by all of them. */
static void few_workers_answer_small_and_large_pages(void **state)
{
	static const struct client_address address;

	(void)state;
	assert_true(sockets_start(&(struct etw_error){ 0 }));
	for (size_t workers = 1; workers <= 4; workers++) {
		struct connection *large[2] = { large_request(), large_request() };
		struct connection *small = connection_new(SOCKET_NONE, &address);
		struct etw_error err;
		struct waker *waker = waker_new(&err);
		struct dispatch *dispatch = dispatch_new(workers, 1, 0, waker, &err);

		assert_true(small && waker && dispatch);
		dispatch_add(dispatch, large[0]);
		assert_ptr_equal(dispatch_next(dispatch), large[0]);
		dispatch_add(dispatch, large[1]);
		dispatch_add(dispatch, small);
		assert_ptr_equal(dispatch_next(dispatch), small);
		dispatch_return(dispatch, large[0]);
		assert_ptr_equal(dispatch_next(dispatch), large[1]);
		connection_free(large[0], false);
		connection_free(large[1], false);
		connection_free(small, false);
		dispatch_free(dispatch);
		waker_free(waker);
	}
	sockets_stop();
}

/* ---- which is answered next ---- */

enum { OF_ONE = 5 };

/* One client sends many requests at once, then another one sends one, and both send more. */
static void clients_take_turns(bool one_large, bool other_large)
{
	static const struct client_address one = { .bytes = { [15] = 1 } },
					   other = { .bytes = { [0] = 1 } };
	struct connection *of_one[OF_ONE], *of_other = connection_new(SOCKET_NONE, &other);
	struct dispatch *dispatch;
	struct waker *waker;
	struct etw_error err;

	assert_non_null(of_other);
	assert_true(sockets_start(&err));
	waker = waker_new(&err);
	assert_non_null(waker);
	dispatch = dispatch_new(WORKERS, 1, 0, waker, &err);
	assert_non_null(dispatch);
	of_other->is_large = other_large;
	for (size_t i = 0; i < OF_ONE; i++) {
		of_one[i] = connection_new(SOCKET_NONE, &one);
		assert_non_null(of_one[i]);
		of_one[i]->is_large = one_large;
		dispatch_add(dispatch, of_one[i]);
	}
	for (size_t i = 0; i < OF_ONE; i++) {
		assert_ptr_equal(dispatch_next(dispatch), of_one[i]);
		dispatch_add(dispatch, of_other);
		dispatch_return(dispatch, of_one[i]);
		assert_ptr_equal(dispatch_returned(dispatch), of_one[i]);
		dispatch_add(dispatch, of_one[i]);
		assert_ptr_equal(dispatch_next(dispatch), of_other);
		dispatch_return(dispatch, of_other);
		assert_ptr_equal(dispatch_returned(dispatch), of_other);
	}
	for (size_t i = 0; i < OF_ONE; i++) {
		assert_ptr_equal(dispatch_next(dispatch), of_one[i]);
		dispatch_return(dispatch, of_one[i]);
		connection_free(of_one[i], false);
	}
	connection_free(of_other, false);
	dispatch_free(dispatch);
	waker_free(waker);
	sockets_stop();
}

static void a_client_with_many_requests_keeps_no_other_waiting(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		clients_take_turns(i & 1, i & 2);
	}
}

/* What has waited for too long is found behind what has not. */
static void overdue_requests_are_found_in_any_order(void **state)
{
	static const struct client_address one = { .bytes = { [15] = 1 } },
					   other = { .bytes = { [0] = 1 } };
	struct connection *first = connection_new(SOCKET_NONE, &one);
	struct connection *second = connection_new(SOCKET_NONE, &one);
	struct connection *last = connection_new(SOCKET_NONE, &other);
	struct connection *overdue;
	struct dispatch *dispatch;
	struct waker *waker;
	struct etw_error err;
	uint64_t after_ns;

	(void)state;
	assert_true(first && second && last);
	assert_true(sockets_start(&err));
	waker = waker_new(&err);
	assert_non_null(waker);
	dispatch = dispatch_new(WORKERS, 0, 0, waker, &err);
	assert_non_null(dispatch);
	dispatch_add(dispatch, first);
	dispatch_add(dispatch, second);
	after_ns = os_monotonic_ns();
	while (os_monotonic_ns() == after_ns) {
	}
	dispatch_add(dispatch, last);
	overdue = dispatch_overdue(dispatch, after_ns + UINT64_C(5000000001));
	assert_true(overdue && overdue->next && !overdue->next->next);
	assert_true(overdue != last && overdue->next != last);
	assert_ptr_equal(dispatch_next(dispatch), last);
	connection_free(first, false);
	connection_free(second, false);
	connection_free(last, false);
	dispatch_free(dispatch);
	waker_free(waker);
	sockets_stop();
}

/* ---- who answers ---- */

enum { CREW = 16, REQUESTS = 200 };

struct worker {
	struct dispatch *dispatch;
	struct os_thread thread;
	unsigned answers;
};

static void answer_all(void *context)
{
	struct worker *worker = context;
	struct connection *connection;

	while ((connection = dispatch_next(worker->dispatch)) != NULL) {
		worker->answers++;
		dispatch_return(worker->dispatch, connection);
	}
}

/* A worker that is used keeps memory: if they took turns, all of them would. */
static void requests_one_after_another_have_one_worker(void **state)
{
	static const struct client_address address;
	struct worker workers[CREW] = { 0 };
	struct connection *connection = connection_new(SOCKET_NONE, &address);
	struct etw_error err;
	struct waker *waker;
	struct dispatch *dispatch;
	unsigned used = 0, answers = 0;

	(void)state;
	assert_non_null(connection);
	assert_true(sockets_start(&err));
	waker = waker_new(&err);
	assert_non_null(waker);
	dispatch = dispatch_new(CREW, 0, 0, waker, &err);
	assert_non_null(dispatch);
	for (size_t i = 0; i < CREW; i++) {
		workers[i].dispatch = dispatch;
		assert_true(os_thread_start(&workers[i].thread, answer_all, &workers[i], &err));
	}
	for (size_t i = 0; i < REQUESTS; i++) {
		while (dispatch_idle(dispatch) < CREW) {
			socket_wait(waker_socket(waker), false, 1);
		}
		dispatch_add(dispatch, connection);
		while (dispatch_returned(dispatch) != connection) {
			socket_wait(waker_socket(waker), false, 1000);
			waker_clear(waker);
		}
	}
	dispatch_stop(dispatch);
	for (size_t i = 0; i < CREW; i++) {
		os_thread_join(&workers[i].thread);
		used += workers[i].answers > 0;
		answers += workers[i].answers;
	}
	connection_free(connection, false);
	dispatch_free(dispatch);
	waker_free(waker);
	sockets_stop();
	assert_int_equal(answers, REQUESTS);
	assert_int_equal(used, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_connection_that_is_not_cut_off_is_kept, begin,
						end),
		cmocka_unit_test_setup_teardown(
			a_connection_that_is_cut_off_behind_its_answer_is_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(
			a_request_that_counts_as_small_makes_room_for_a_large_one, begin, end),
		cmocka_unit_test(a_page_that_waits_for_its_client_lets_another_one_begin),
		cmocka_unit_test(few_workers_answer_small_and_large_pages),
		cmocka_unit_test(a_client_with_many_requests_keeps_no_other_waiting),
		cmocka_unit_test(overdue_requests_are_found_in_any_order),
		cmocka_unit_test(requests_one_after_another_have_one_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
