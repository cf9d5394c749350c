/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utc.h"

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
		{ "9999-12-31T23:59:59.9999999Z", INT64_C(2650467743999999999) },
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
	assert_false(utc_format(INT64_C(2650467744000000000), text)); /* the start of year 10000 */
	assert_false(utc_format(INT64_MAX, text));
}

static void durations_are_seconds_or_have_a_unit(void **state)
{
	static const struct {
		const char *text;
		int64_t time; /* 100 ns */
	} good[] = {
		{ "0", 0 },
		{ "12.25", 122500000 },
		{ "3162240000", 31622400000000000 }, /* a hundred years of 366 days */
		{ "10s", 100000000 },
		{ "0.5s", 5000000 },
		{ "500ms", 5000000 },
		{ "0.5ms", 5000 },
		{ "1m", 600000000 },
		{ "1.5m", 900000000 },
		{ "2h", 72000000000 },
		{ "878400h", 31622400000000000 },
	};
	static const char *const bad[] = { "3162240001",  "878401h", "99999999999999999999",
					   "9999999999h", "",        "s",
					   "-1",          "1.",      "1.s",
					   "1 s",         "1d",      "10ss" };
	int64_t time = 7;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		print_message("  %s\n", good[i].text);
		assert_true(utc_parse_duration(good[i].text, &time));
		assert_int_equal(time, good[i].time);
	}
	time = 7;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		print_message("  %s\n", bad[i]);
		assert_false(utc_parse_duration(bad[i], &time));
		assert_int_equal(time, 7);
	}
}

static void what_is_nearly_a_time_says_what_it_lacks(void **state)
{
	(void)state;
	assert_string_equal(utc_lacks("07:00"), "lacks the date and the Z");
	assert_string_equal(utc_lacks("07:00:10.5"), "lacks the date and the Z");
	assert_string_equal(utc_lacks("2024-05-14"), "lacks the time");
	assert_string_equal(utc_lacks("2024-05-14T07:00:10"), "lacks the Z");
	assert_string_equal(utc_lacks("2024-05-14 07:00:10Z"), "has a blank in place of the T");
	assert_null(utc_lacks(""));
	assert_null(utc_lacks("yesterday"));
	assert_null(utc_lacks("07:00:"));
	assert_null(utc_lacks("07:00:10."));
	assert_null(utc_lacks("2024-13-14T07:00:10Z"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_go_both_ways),
		cmocka_unit_test(fractions_are_of_any_length),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(durations_are_seconds_or_have_a_unit),
		cmocka_unit_test(what_is_nearly_a_time_says_what_it_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
