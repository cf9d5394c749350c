/* SPDX-License-Identifier: MIT */
/*
 * How long a scrape may take: the header of Prometheus, and what is no header of Prometheus.
 */
#include "exporter/http/negotiate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

/* Seconds as a double are not exact: a millisecond more or less does not matter. */
static void expect(const char *header, uint64_t offset_ns, uint64_t expected_ns)
{
	uint64_t limit = time_limit_ns(header, offset_ns);

	if (limit > expected_ns + 1000000 || limit + 1000000 < expected_ns) {
		fail_msg("%s: %llu ns instead of %llu", header ? header : "(none)",
			 (unsigned long long)limit, (unsigned long long)expected_ns);
	}
}

static void the_offset_is_taken_from_the_timeout(void **state)
{
	(void)state;
	expect("10", SECOND / 2, 19 * SECOND / 2);
	expect("10.000000", SECOND / 2, 19 * SECOND / 2);
	expect("1.5e+01", SECOND, 14 * SECOND);
	expect("10", 0, 10 * SECOND);
}

static void a_short_timeout_is_halved_at_most(void **state)
{
	(void)state;
	expect("1", SECOND / 2, SECOND / 2);
	expect("0.5", SECOND / 2, SECOND / 4);
	expect("0.004", 60 * SECOND, 2000000);
	assert_true(time_limit_ns("1e-30", SECOND) > 0);
}

static void a_minute_is_the_most(void **state)
{
	static const char *const headers[] = { "61",    "3600",
					       "1e9",   "1e308",
					       "1e999", "99999999999999999999999999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
		assert_int_equal(time_limit_ns(headers[i], SECOND / 2), TIME_LIMIT_MAX_NS);
	}
	expect("60.5", SECOND / 2, TIME_LIMIT_MAX_NS);
}

static void what_is_no_number_of_seconds_is_ignored(void **state)
{
	static const char *const headers[] = { NULL,  "",     "0",     "-1",   "-0.5", "abc", "10s",
					       "nan", "inf",  "-inf",  "0x10", " 10",  "10 ", "1,5",
					       "1e",  "1..5", "10;20", "+-1",  "e5",   "--1" };

	(void)state;
	for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
		if (time_limit_ns(headers[i], SECOND / 2) != TIME_LIMIT_MAX_NS) {
			fail_msg("%s is taken", headers[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_offset_is_taken_from_the_timeout),
		cmocka_unit_test(a_short_timeout_is_halved_at_most),
		cmocka_unit_test(a_minute_is_the_most),
		cmocka_unit_test(what_is_no_number_of_seconds_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
