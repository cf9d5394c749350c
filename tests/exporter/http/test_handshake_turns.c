/* SPDX-License-Identifier: MIT */
/*
 * Which handshakes go on in a pass of the reception.
 */
#include "exporter/http/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4 };

static int make_turns(void **state)
{
	static struct handshake_turns turns;

	turns = (struct handshake_turns){ 0 };
	*state = &turns;
	return handshake_turns_init(&turns, MOST) ? 0 : 1;
}

static int free_turns(void **state)
{
	handshake_turns_done(*state);
	return 0;
}

static bool take(struct handshake_turns *turns, const char *text)
{
	struct client_address address = { 0 };
	struct address_range range;

	assert_true(address_range_parse(text, &range));
	memcpy(address.bytes, range.bytes, sizeof address.bytes);
	return handshake_turns_take(turns, &address);
}

static void each_address_has_one_turn_in_a_pass(void **state)
{
	struct handshake_turns *turns = *state;

	for (unsigned pass = 0; pass < 3; pass++) {
		handshake_turns_begin(turns);
		assert_true(take(turns, "192.0.2.1"));
		assert_false(take(turns, "192.0.2.1"));
		assert_true(take(turns, "192.0.2.2"));
		assert_false(take(turns, "192.0.2.1"));
		/* A machine has all addresses of its /64. */
		assert_true(take(turns, "2001:db8::1"));
		assert_false(take(turns, "2001:db8::2"));
	}
}

static void turns_beyond_the_room_wait(void **state)
{
	static const char *const clients[MOST] = { "192.0.2.1", "192.0.2.2", "192.0.2.3",
						   "192.0.2.4" };
	struct handshake_turns *turns = *state;

	handshake_turns_begin(turns);
	for (size_t i = 0; i < MOST; i++) {
		assert_true(take(turns, clients[i]));
	}
	assert_false(take(turns, "192.0.2.5"));
	handshake_turns_begin(turns);
	assert_true(take(turns, "192.0.2.5"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_address_has_one_turn_in_a_pass, make_turns,
						free_turns),
		cmocka_unit_test_setup_teardown(turns_beyond_the_room_wait, make_turns, free_turns),
	};

	return cmocka_run_group_tests_name("handshake_turns", tests, NULL, NULL);
}
