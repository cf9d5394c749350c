/* SPDX-License-Identifier: MIT */
/*
 * Keys as terminals send them. Sequences by "XTerm Control Sequences", section "PC-Style Function
 * Keys".
 */
#include "etwtool/top/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

static size_t parse_key(const char *bytes, bool all, uint32_t *key)
{
	uint8_t *copy = exact_copy(bytes, strlen(bytes));
	size_t size = terminal_parse_key((const char *)copy, strlen(bytes), all, key);

	free(copy);
	return size;
}

static void keys_have_their_sequences(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t key;
	} rows[] = {
		{ "q", 'q' },
		{ "\r", '\n' },
		{ "\n", '\n' },
		{ "\x7f", '\b' },
		{ "\b", '\b' },
		{ "\xc3\xa4", 0xe4 },
		{ "\033[A", KEY_UP },
		{ "\033OB", KEY_DOWN },
		{ "\033[C", KEY_RIGHT },
		{ "\033[D", KEY_LEFT },
		{ "\033[H", KEY_HOME },
		{ "\033OF", KEY_END },
		{ "\033[1~", KEY_HOME },
		{ "\033[4~", KEY_END },
		{ "\033[5~", KEY_PAGE_UP },
		{ "\033[6~", KEY_PAGE_DOWN },
		{ "\033[15~", KEY_NONE },
		{ "\033[1;5A", KEY_UP },
		{ "\033[99999999999999999999~", KEY_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t key;

		assert_int_equal(parse_key(rows[i].bytes, false, &key), strlen(rows[i].bytes));
		assert_int_equal(key, rows[i].key);
	}
}

static void a_sequence_waits_for_its_rest(void **state)
{
	static const char *const starts[] = { "\033", "\033[", "\033O", "\033[1", "\033[1;5" };

	(void)state;
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		uint32_t key;

		assert_int_equal(parse_key(starts[i], false, &key), 0);
		assert_int_equal(parse_key(starts[i], true, &key), strlen(starts[i]));
		assert_int_equal(key, i == 0 ? '\033' : KEY_NONE);
	}
}

static void one_key_is_taken_at_a_time(void **state)
{
	uint32_t key;

	(void)state;
	assert_int_equal(parse_key("\033[Bq", false, &key), 3);
	assert_int_equal(key, KEY_DOWN);
	/* Escape, and then a letter: no terminal sends that for one key that we know. */
	assert_int_equal(parse_key("\033q", false, &key), 1);
	assert_int_equal(key, '\033');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_have_their_sequences),
		cmocka_unit_test(a_sequence_waits_for_its_rest),
		cmocka_unit_test(one_key_is_taken_at_a_time),
	};

	return cmocka_run_group_tests_name("terminal_posix", tests, NULL, NULL);
}
