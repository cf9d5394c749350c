/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool/utc.h"

/* FILETIMEs by "date -u +%s": (seconds + 11644473600) * 10^7. */
static void times_go_both_ways(void **state)
{
	static const struct {
		const char *text;
		int64_t time;
	} cases[] = {
		{ "1601-01-01T00:00:00.0000001Z", 1 },
		{ "1970-01-01T00:00:00.0000000Z", INT64_C(116444736000000000) },
		{ "2000-02-29T23:59:59.9999999Z", INT64_C(125963423999999999) },
		{ "2020-07-29T00:07:00.6236167Z", INT64_C(132404548206236167) },
		{ "2100-02-28T12:00:00.0000000Z", INT64_C(157519728000000000) },
		{ "9999-12-31T23:59:59.0000000Z", INT64_C(2650467743990000000) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[UTC_TEXT_SIZE] = "";
		int64_t time = 0;

		print_message("  %s\n", cases[i].text);
		assert_true(utc_parse(cases[i].text, &time));
		assert_int_equal(time, cases[i].time);
		assert_true(utc_format(time, text));
		assert_string_equal(text, cases[i].text);
	}
}

static void fractions_are_of_any_length(void **state)
{
	static const struct {
		const char *text;
		int64_t rest;
	} cases[] = { { "1970-01-01T00:00:00Z", 0 },
		      { "1970-01-01T00:00:00.5Z", 5000000 },
		      { "1970-01-01T00:00:00.1234567Z", 1234567 },
		      { "1970-01-01T00:00:00.123456789123456789Z", 1234567 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int64_t time = 0;

		assert_true(utc_parse(cases[i].text, &time));
		assert_int_equal(time - INT64_C(116444736000000000), cases[i].rest);
	}
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"Z",
		"2020",
		"2020-07-29",
		"2020-07-29T00:07Z",
		"2020-07-29T00:07:00",
		"2020-07-29T00:07:00.Z",
		"2020-07-29T00:07:00Zx",
		"2020-13-01T00:00:00Z",
		"2020-00-01T00:00:00Z",
		"2021-02-29T00:00:00Z",
		"2020-01-00T00:00:00Z",
		"2020-01-01T24:00:00Z",
		"2020-01-01T00:60:00Z",
		"2020-01-01T00:00:60Z",
		"1600-12-31T00:00:00Z",
		"-020-01-01T00:00:00Z",
		"2020-01-01T00:00:00+00:00",
	};
	int64_t time = 7;
	char text[UTC_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		print_message("  %s\n", texts[i]);
		assert_false(utc_parse(texts[i], &time));
		assert_int_equal(time, 7);
	}
	assert_false(utc_format(INT64_MIN, text));
	assert_false(utc_format(0, text));
	assert_false(utc_format(INT64_MAX, text));
}

static void seconds_are_numbers_without_sign(void **state)
{
	int64_t time = 7;

	(void)state;
	assert_true(utc_parse_seconds("0", &time));
	assert_int_equal(time, 0);
	assert_true(utc_parse_seconds("12.25", &time));
	assert_int_equal(time, 122500000);
	assert_true(utc_parse_seconds("3162240000", &time));
	time = 7;
	assert_false(utc_parse_seconds("3162240001", &time));
	assert_false(utc_parse_seconds("99999999999999999999", &time));
	assert_false(utc_parse_seconds("", &time));
	assert_false(utc_parse_seconds("-1", &time));
	assert_false(utc_parse_seconds("1.", &time));
	assert_false(utc_parse_seconds("1s", &time));
	assert_int_equal(time, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_go_both_ways),
		cmocka_unit_test(fractions_are_of_any_length),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(seconds_are_numbers_without_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
