/* SPDX-License-Identifier: MIT */
/*
 * Which connections a wait finds ready, at once and in turns. Each has a client's end.
 */
#include "exporter/http/connection.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/os.h"
#include "tests/support/system.h"

enum {
	MOST = 300,
	MANY = 200, /* silent ones: too many to wait for */
	SLICE = MANY / WAIT_SET_SLICES + 1,
};

static_assert((int)MANY > (int)WAIT_SET_FEW && (int)MANY > (int)WAIT_SET_KEPT,
	      "they are in slices");

struct fixture {
	struct connection_list list;
	struct wait_set *set;
	connection clients[MOST]; /* in the order in which they came */
	size_t clients_count;
	connection other[2];
	struct connection *const *ready; /* of the last wait */
	size_t ready_count;
};

static void count_closed(void *context, enum close_reason reason)
{
	(void)context;
	(void)reason;
}

static void keep_count(void *context, size_t connections)
{
	(void)context;
	(void)connections;
}

static int open_wait_set(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct etw_error err;

	assert_non_null(fixture);
	assert_true(sockets_start(&err));
	fixture->list = (struct connection_list){ .closed = count_closed, .opened = keep_count };
	assert_true(connection_list_init(&fixture->list, MOST));
	fixture->set = wait_set_new(1, MOST);
	assert_non_null(fixture->set);
	assert_true(connection_pair(fixture->other));
	*state = fixture;
	return 0;
}

static int close_wait_set(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < fixture->clients_count; i++) {
		connection_close(fixture->clients[i]);
	}
	connection_close(fixture->other[0]);
	connection_close(fixture->other[1]);
	connection_list_done(&fixture->list);
	wait_set_free(fixture->set);
	sockets_stop();
	free(fixture);
	return 0;
}

/* A connection that last sent something at that time. */
static struct connection *add(struct fixture *fixture, uint64_t active_ns)
{
	static const struct client_address address;
	connection pair[2];
	struct connection *c;

	assert_true(connection_pair(pair));
	c = connection_new(pair[1], &address);
	assert_non_null(c);
	c->state = CONNECTION_READING;
	c->active_ns = active_ns;
	fixture->clients[fixture->clients_count++] = pair[0];
	connection_list_add(&fixture->list, c);
	return c;
}

static void add_silent(struct fixture *fixture, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		add(fixture, 0);
	}
}

/* Its bytes have arrived afterwards. */
static void send_to(struct fixture *fixture, const struct connection *c)
{
	assert_int_equal(connection_send(fixture->clients[c->index], "G", 1), 1);
	socket_wait(c->socket, false, WAIT_MS);
}

static void send_to_all(struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->list.count; i++) {
		send_to(fixture, fixture->list.connections[i]);
	}
}

/* Returns how many are ready. */
static size_t wait_for(struct fixture *fixture, unsigned ms)
{
	const socket_handle others[] = { fixture->other[1] };

	wait_set_wait(fixture->set, others, 1, &fixture->list, ms, os_monotonic_ns());
	fixture->ready = wait_set_ready(fixture->set, &fixture->ready_count);
	return fixture->ready_count;
}

static bool is_ready(const struct fixture *fixture, const struct connection *c)
{
	size_t times = 0;

	for (size_t i = 0; i < fixture->ready_count; i++) {
		times += fixture->ready[i] == c;
	}
	assert_true(times <= 1);
	return times == 1;
}

static void few_silent_connections_are_waited_for(void **state)
{
	struct fixture *fixture = *state;

	add_silent(fixture, WAIT_SET_FEW);
	send_to_all(fixture);
	assert_int_equal(wait_for(fixture, WAIT_MS), WAIT_SET_FEW);
}

static void an_active_one_does_not_wait_for_many_silent_ones(void **state)
{
	struct fixture *fixture = *state;
	struct connection *active;

	add_silent(fixture, MANY);
	active = add(fixture, os_monotonic_ns() + 3600 * UINT64_C(1000000000));
	send_to_all(fixture);
	/* All are readable: so many are looked at. */
	assert_in_range(wait_for(fixture, WAIT_MS), 1, 1 + SLICE);
	assert_true(is_ready(fixture, active));
}

static void many_silent_ones_have_their_turns(void **state)
{
	struct fixture *fixture = *state;
	bool found[MOST] = { false };
	size_t left = MANY, slices = 0;

	add_silent(fixture, MANY);
	send_to_all(fixture);
	while (left > 0) {
		size_t count = wait_for(fixture, WAIT_MS);

		assert_in_range(count, 0, SLICE);
		slices += count > 0;
		for (size_t i = 0; i < count; i++) {
			left -= !found[fixture->ready[i]->index];
			found[fixture->ready[i]->index] = true;
		}
	}
	assert_in_range(slices, 1, WAIT_SET_SLICES);
}

static void none_is_passed_over_while_others_end(void **state)
{
	struct fixture *fixture = *state;
	size_t left = 0, slices = 0;

	add_silent(fixture, MANY);
	for (size_t i = 0; i < MANY; i += 2, left++) {
		send_to(fixture, fixture->list.connections[i]);
	}
	/* What is ready ends, and the last one of the list takes its place. */
	while (left > 0) {
		size_t count = wait_for(fixture, WAIT_MS);

		slices += count > 0;
		left -= count;
		for (size_t i = 0; i < count; i++) {
			connection_list_end(&fixture->list, fixture->ready[i], CLOSED_CLIENT,
					    false);
		}
	}
	assert_in_range(slices, 1, WAIT_SET_SLICES);
}

static void some_kept_ones_are_waited_for(void **state)
{
	struct fixture *fixture = *state;
	struct connection *kept;

	add_silent(fixture, MANY);
	kept = add(fixture, 0);
	kept->requests = 1;
	send_to_all(fixture);
	assert_in_range(wait_for(fixture, WAIT_MS), 1, 1 + SLICE);
	assert_true(is_ready(fixture, kept));
	/* Many that are kept are no better than many silent ones. */
	for (size_t i = 0; i < fixture->list.count; i++) {
		fixture->list.connections[i]->requests = 1;
	}
	assert_in_range(wait_for(fixture, WAIT_MS), WAIT_SET_KEPT, WAIT_SET_KEPT + SLICE);
}

static void a_request_that_is_answered_is_left_alone(void **state)
{
	struct fixture *fixture = *state;
	struct connection *answered = add(fixture, 0);

	answered->state = CONNECTION_WHOLE;
	send_to_all(fixture);
	assert_int_equal(wait_for(fixture, 0), 0);
	add_silent(fixture, MANY);
	for (int i = 0; i < 2 * WAIT_SET_SLICES; i++) {
		assert_int_equal(wait_for(fixture, 20), 0);
	}
}

static void another_socket_ends_the_wait(void **state)
{
	struct fixture *fixture = *state;

	add_silent(fixture, WAIT_SET_FEW);
	assert_int_equal(wait_for(fixture, 0), 0);
	assert_false(wait_set_other_ready(fixture->set, 0));
	assert_int_equal(connection_send(fixture->other[0], "", 1), 1);
	assert_int_equal(wait_for(fixture, WAIT_MS), 0);
	assert_true(wait_set_other_ready(fixture->set, 0));
}

int main(void)
{
#define with_set(test) cmocka_unit_test_setup_teardown(test, open_wait_set, close_wait_set)
	const struct CMUnitTest tests[] = {
		with_set(few_silent_connections_are_waited_for),
		with_set(an_active_one_does_not_wait_for_many_silent_ones),
		with_set(many_silent_ones_have_their_turns),
		with_set(none_is_passed_over_while_others_end),
		with_set(some_kept_ones_are_waited_for),
		with_set(a_request_that_is_answered_is_left_alone),
		with_set(another_socket_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
