/* SPDX-License-Identifier: MIT */
#include "base/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static void one_second_passes_before_the_first_line(void **state)
{
	struct progress progress;
	char line[PROGRESS_LINE_SIZE] = "";
	uint64_t start;

	(void)state;
	progress_start(&progress, "etwtool", "dump", OUTPUT_STREAMS);
	start = progress.start_ns;
	assert_false(progress_line(&progress, 0.1, start + 999 * MS, line));
	assert_true(progress_line(&progress, 0.25, start + 1000 * MS, line));
	assert_string_equal(line, "\retwtool dump:  25 %, 1 s ");
	assert_false(progress_line(&progress, 0.3, start + 1249 * MS, line));
	assert_true(progress_line(&progress, 7, start + 1250 * MS, line));
	assert_string_equal(line, "\retwtool dump: 100 %, 1 s ");
	assert_true(progress_line(&progress, -1, start + 12345 * MS, line));
	assert_string_equal(line, "\retwtool dump:   0 %, 12 s ");
	assert_false(progress_bytes_line(&progress, 5, start + 12346 * MS, line));
	assert_true(progress_bytes_line(&progress, 1234567890, start + 13000 * MS, line));
	assert_string_equal(line, "\retwtool dump: 1234 MB, 13 s ");
}

static void the_share_is_that_of_all_passes_over_all_recordings(void **state)
{
	/* Two recordings, of 100 and 300 bytes, each read twice. */
	static const struct {
		uint64_t read, size, before, percent;
	} twice[] = {
		{ 0, 100, 0, 0 },      { 40, 100, 0, 5 },    { 100, 100, 0, 12 },
		{ 20, 100, 0, 15 },    { 100, 100, 0, 25 },  { 0, 300, 100, 25 },
		{ 150, 300, 100, 43 }, { 10, 300, 100, 63 }, { 300, 300, 100, 100 },
	};
	struct progress progress;

	(void)state;
	progress_start(&progress, "x", NULL, OUTPUT_AT_END);
	for (size_t i = 0; i < sizeof twice / sizeof twice[0]; i++) {
		double share = progress_share(&progress, twice[i].read, twice[i].size,
					      twice[i].before, 400);

		assert_int_equal((uint64_t)(100 * share), twice[i].percent);
	}
	progress_start(&progress, "x", NULL, OUTPUT_AT_END);
	progress.passes = 1;
	assert_float_equal(progress_share(&progress, 100, 200, 0, 200), 0.5, 0.001);
	assert_float_equal(progress_share(&progress, 0, 0, 0, 0), 1, 0.001);
}

static void a_line_never_mixes_with_the_result(void **state)
{
	(void)state;
	assert_true(progress_is_watched(OUTPUT_AT_END, true, false));
	assert_true(progress_is_watched(OUTPUT_AT_END, true, true));
	assert_true(progress_is_watched(OUTPUT_STREAMS, true, true));
	assert_false(progress_is_watched(OUTPUT_STREAMS, true, false));
	assert_false(progress_is_watched(OUTPUT_AT_END, false, true));
	assert_false(progress_is_watched(OUTPUT_STREAMS, false, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_second_passes_before_the_first_line),
		cmocka_unit_test(the_share_is_that_of_all_passes_over_all_recordings),
		cmocka_unit_test(a_line_never_mixes_with_the_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
