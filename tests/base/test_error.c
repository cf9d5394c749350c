/* SPDX-License-Identifier: MIT */
/*
 * Errors: one line of UTF-8 that keeps what matters most.
 */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_sentence_is_formatted_and_false_returned(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	assert_false(
		error_set(&err, ETW_ERROR_FORMAT, "size %d is below the %d-byte header", 0, 72));
	assert_int_equal(err.code, ETW_ERROR_FORMAT);
	assert_string_equal(err.text, "size 0 is below the 72-byte header");
}

static void each_caller_puts_what_it_knows_in_front(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	error_set(&err, ETW_ERROR_FORMAT, "size 0");
	assert_false(error_prefix(&err, "buffer %d at %d", 3, 196608));
	assert_false(error_prefix(&err, "%s", "boot.etl"));
	assert_string_equal(err.text, "boot.etl: buffer 3 at 196608: size 0");
	assert_int_equal(err.code, ETW_ERROR_FORMAT);
}

static void a_later_error_replaces_the_earlier_one(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	error_set(&err, ETW_ERROR_FORMAT, "a long sentence about what went wrong");
	error_set(&err, ETW_ERROR_LIMIT, "short");
	assert_int_equal(err.code, ETW_ERROR_LIMIT);
	assert_string_equal(err.text, "short");
}

static void what_memory_was_for_is_named(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	assert_false(error_no_memory(&err, "the configuration"));
	assert_int_equal(err.code, ETW_ERROR_NO_MEMORY);
	assert_string_equal(err.text, "no memory for the configuration");
	assert_false(error_no_memory(NULL, "an error that has no place"));
}

static void the_error_may_be_null(void **state)
{
	(void)state;
	assert_false(error_set(NULL, ETW_ERROR_SYSTEM, "lost %d", 1));
	assert_false(error_prefix(NULL, "in %s", "vain"));
}

static void a_sentence_may_quote_the_one_it_replaces(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	error_set(&err, ETW_ERROR_FORMAT, "inner");
	error_set(&err, ETW_ERROR_CONFIG, "outer (%s)", err.text);
	assert_string_equal(err.text, "outer (inner)");
	error_prefix(&err, "[%s]", err.text);
	assert_string_equal(err.text, "[outer (inner)]: outer (inner)");
}

static void a_prefix_of_nothing_stands_alone(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	error_prefix(&err, "boot.etl");
	assert_string_equal(err.text, "boot.etl");
}

static void text_from_outside_stays_one_line_of_utf8(void **state)
{
	static const struct {
		const char *text;
		const char *line;
	} cases[] = {
		{ "two\nlines\r", "two?lines?" },
		{ "\x1b[31mred", "?[31mred" },
		{ "del\x7f", "del?" },
		{ "csi\xc2\x9b rlo\xe2\x80\xae zwsp\xe2\x80\x8b ls\xe2\x80\xa8",
		  "csi? rlo? zwsp? ls?" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "latin-1 caf\xe9", "latin-1 caf\xef\xbf\xbd" },
		{ "cut \xf0\x9f", "cut \xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };

		error_set(&err, ETW_ERROR_CONFIG, "%s", cases[i].text);
		assert_string_equal(err.text, cases[i].line);
		error_set(&err, ETW_ERROR_CONFIG, "x");
		error_prefix(&err, "%s", cases[i].text);
		assert_memory_equal(err.text, cases[i].line, strlen(cases[i].line));
	}
}

static void a_sentence_that_just_fits_is_whole(void **state)
{
	char text[sizeof((struct etw_error *)0)->text];
	struct etw_error err = { 0 };

	(void)state;
	memset(text, 'a', sizeof text);
	text[sizeof text - 1] = '\0';
	error_set(&err, ETW_ERROR_CONFIG, "%s", text);
	assert_string_equal(err.text, text);
}

static void a_sentence_too_long_ends_in_dots_after_a_whole_character(void **state)
{
	char text[2048];

	(void)state;
	for (size_t shift = 0; shift < 4; shift++) {
		struct etw_error err = { 0 };
		size_t size;

		memset(text, 'a', shift);
		for (size_t at = shift; at + 3 < sizeof text; at += 3) {
			memcpy(text + at, "\xe2\x82\xac", 4); /* the euro sign */
		}
		error_set(&err, ETW_ERROR_CONFIG, "%s", text);
		size = strlen(err.text);
		assert_in_range(size, sizeof err.text - 6, sizeof err.text - 1);
		assert_string_equal(err.text + size - 3, "...");
		assert_int_equal((size - 3 - shift) % 3, 0);
	}
}

static void a_long_prefix_leaves_the_sentence_whole(void **state)
{
	char path[4096];
	struct etw_error err = { 0 };
	static const char sentence[] =
		"...: buffer 3 at 196608: size 0 is below the 72-byte header";

	(void)state;
	memset(path, 'p', sizeof path);
	path[sizeof path - 1] = '\0';
	error_set(&err, ETW_ERROR_FORMAT, "buffer 3 at 196608: size 0 is below the 72-byte header");
	error_prefix(&err, "%s", path);
	assert_in_range(strlen(err.text), sizeof err.text - 8, sizeof err.text - 1);
	assert_string_equal(err.text + strlen(err.text) - strlen(sentence), sentence);
}

static void a_long_prefix_and_a_long_sentence_share_the_room(void **state)
{
	char text[4096];
	struct etw_error err = { 0 };

	(void)state;
	memset(text, 's', sizeof text);
	text[sizeof text - 1] = '\0';
	error_set(&err, ETW_ERROR_FORMAT, "%s", text);
	memset(text, 'p', sizeof text - 1);
	for (size_t i = 0; i < 3; i++) {
		error_prefix(&err, "%s", text);
		assert_in_range(strlen(err.text), 1, sizeof err.text - 1);
		assert_int_equal(err.text[0], 'p');
		assert_non_null(strstr(err.text, "p...: "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sentence_is_formatted_and_false_returned),
		cmocka_unit_test(each_caller_puts_what_it_knows_in_front),
		cmocka_unit_test(a_later_error_replaces_the_earlier_one),
		cmocka_unit_test(what_memory_was_for_is_named),
		cmocka_unit_test(the_error_may_be_null),
		cmocka_unit_test(a_sentence_may_quote_the_one_it_replaces),
		cmocka_unit_test(a_prefix_of_nothing_stands_alone),
		cmocka_unit_test(text_from_outside_stays_one_line_of_utf8),
		cmocka_unit_test(a_sentence_that_just_fits_is_whole),
		cmocka_unit_test(a_sentence_too_long_ends_in_dots_after_a_whole_character),
		cmocka_unit_test(a_long_prefix_leaves_the_sentence_whole),
		cmocka_unit_test(a_long_prefix_and_a_long_sentence_share_the_room),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
