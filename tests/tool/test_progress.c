/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool/tool.h"

#define MS UINT64_C(1000000)

static void two_seconds_pass_before_the_first_line(void **state)
{
	struct progress progress;
	char line[PROGRESS_LINE_SIZE] = "";
	uint64_t start;

	(void)state;
	progress_start(&progress, "dump");
	start = progress.start_ns;
	assert_false(progress_line(&progress, 0.1, start + 1999 * MS, line));
	assert_true(progress_line(&progress, 0.25, start + 2000 * MS, line));
	assert_string_equal(line, "\retwtool dump:  25 %, 2 s ");
	assert_false(progress_line(&progress, 0.3, start + 2249 * MS, line));
	assert_true(progress_line(&progress, 7, start + 2250 * MS, line));
	assert_string_equal(line, "\retwtool dump: 100 %, 2 s ");
	assert_true(progress_line(&progress, -1, start + 12345 * MS, line));
	assert_string_equal(line, "\retwtool dump:   0 %, 12 s ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_seconds_pass_before_the_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
