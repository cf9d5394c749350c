/* SPDX-License-Identifier: MIT */
/*
 * Which connection makes room for another one. The connections have no sockets.
 */
#include "exporter/http/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

struct fixture {
	struct connection_list list;
	unsigned ended[CLOSE_REASONS];
	size_t open;
};

static void count_closed(void *context, enum close_reason reason)
{
	((struct fixture *)context)->ended[reason]++;
}

static void keep_count(void *context, size_t connections)
{
	((struct fixture *)context)->open = connections;
}

static int make_list(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){
		.list = { .context = &fixture, .closed = count_closed, .opened = keep_count }
	};
	*state = &fixture;
	return connection_list_init(&fixture.list, MOST) ? 0 : 1;
}

static int free_list(void **state)
{
	struct fixture *fixture = *state;

	connection_list_done(&fixture->list);
	return 0;
}

static struct client_address address_of(const char *text)
{
	struct client_address address = { .local = false };
	struct address_range range;

	assert_true(address_range_parse(text, &range));
	memcpy(address.bytes, range.bytes, sizeof address.bytes);
	return address;
}

static struct connection *add(struct fixture *fixture, const char *from, uint64_t since_ns)
{
	struct client_address address = address_of(from);
	struct connection *connection = connection_new(SOCKET_NONE, &address);

	assert_non_null(connection);
	connection->state = CONNECTION_READING;
	connection->since_ns = since_ns;
	connection_list_add(&fixture->list, connection);
	return connection;
}

static bool is_there(const struct fixture *fixture, uint64_t since_ns)
{
	for (size_t i = 0; i < fixture->list.count; i++) {
		if (fixture->list.connections[i]->since_ns == since_ns) {
			return true;
		}
	}
	return false;
}

static void expect_to_go(struct fixture *fixture, uint64_t since_ns, enum close_reason reason)
{
	unsigned before = fixture->ended[reason];

	assert_true(is_there(fixture, since_ns));
	assert_true(connection_list_evict(&fixture->list, NULL));
	assert_false(is_there(fixture, since_ns));
	assert_int_equal(fixture->ended[reason], before + 1);
	assert_int_equal(fixture->open, fixture->list.count);
}

static void what_is_of_least_use_goes_first(void **state)
{
	struct fixture *fixture = *state;
	struct connection *c;

	add(fixture, "192.0.2.1", 5);
	c = add(fixture, "192.0.2.1", 1); /* kept */
	c->requests = 3;
	c = add(fixture, "192.0.2.1", 2);
	c->state = CONNECTION_WHOLE;
	c = add(fixture, "192.0.2.1", 6);
	c->state = CONNECTION_DRAINING;
	c->requests = 1;
	c->reason = CLOSED_DONE;
	c = add(fixture, "192.0.2.1", 3);
	c->state = CONNECTION_HANDSHAKE;

	expect_to_go(fixture, 6, CLOSED_DONE);
	expect_to_go(fixture, 3, CLOSED_EVICTED);
	expect_to_go(fixture, 5, CLOSED_EVICTED);
	expect_to_go(fixture, 1, CLOSED_EVICTED);
	/* A request that is being answered stays. */
	assert_false(connection_list_evict(&fixture->list, NULL));
	assert_true(is_there(fixture, 2));
}

static void one_address_has_half_and_takes_from_itself(void **state)
{
	struct fixture *fixture = *state;
	struct client_address many = address_of("2001:db8::1"), other = address_of("192.0.2.2");

	add(fixture, "192.0.2.1", 1);
	for (uint64_t i = 2; i < 2 + MOST / 2; i++) {
		assert_true(connection_list_make_room(&fixture->list, &many));
		add(fixture, "2001:db8::1", i);
	}
	assert_int_equal(fixture->ended[CLOSED_EVICTED], 0);
	/* The fifth of it ends its oldest, although another address has an older one. */
	assert_true(connection_list_make_room(&fixture->list, &many));
	assert_false(is_there(fixture, 2));
	assert_true(is_there(fixture, 1));
	add(fixture, "2001:db8::2", 9); /* counts as the same client */
	add(fixture, "192.0.2.1", 10);
	add(fixture, "192.0.2.1", 11);
	assert_true(connection_list_make_room(&fixture->list, &other));
	add(fixture, "192.0.2.2", 12);
	assert_int_equal(fixture->open, MOST);
	/* Full: the oldest of all goes. */
	assert_true(connection_list_make_room(&fixture->list, &other));
	assert_false(is_there(fixture, 1));
	assert_int_equal(fixture->open, MOST - 1);
}

static void there_is_no_room_beside_requests(void **state)
{
	struct fixture *fixture = *state;
	struct client_address other = address_of("192.0.2.2");

	for (uint64_t i = 0; i < MOST; i++) {
		add(fixture, "192.0.2.1", i)->state = CONNECTION_WHOLE;
	}
	assert_false(connection_list_make_room(&fixture->list, &other));
	assert_int_equal(fixture->open, MOST);
}

int main(void)
{
#define with_list(test) cmocka_unit_test_setup_teardown(test, make_list, free_list)
	const struct CMUnitTest tests[] = {
		with_list(what_is_of_least_use_goes_first),
		with_list(one_address_has_half_and_takes_from_itself),
		with_list(there_is_no_room_beside_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
