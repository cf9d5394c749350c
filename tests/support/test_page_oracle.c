/* SPDX-License-Identifier: MIT */
/*
 * The oracle finds each fault that it is for, and none in a page that is right.
 */
#include "tests/support/page_oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HISTOGRAM "# HELP h H.\n# TYPE h histogram\n"
#define COUNTER   "# HELP c_total C.\n# TYPE c_total counter\n"

static const struct {
	const char *page;
	const char *fault; /* NULL: it has none */
} cases[] = {
	{ "", NULL },
	{ COUNTER "c_total 0\n", NULL },
	{ COUNTER "c_total{a=\"\\\\ \\\" \\n \xc3\xa4,}\",b=\"\"} 18446744073709551615\n", NULL },
	{ "# TYPE g gauge\ng{a=\"x\"} -1.5\ng{a=\"y\"} 0.000000003\n", NULL },
	{ HISTOGRAM "h_bucket{le=\"0.5\"} 1\nh_bucket{le=\"+Inf\"} 3\nh_sum 7.25\nh_count 3\n",
	  NULL },
	{ COUNTER "c_total -1\n", "a counter below 0" },
	{ COUNTER "c_total NaN\n", "no line of the format" },
	{ COUNTER "c_total 1e3\n", "no line of the format" },
	{ COUNTER "c_total\n", "no line of the format" },
	{ COUNTER "c_total{a=\"x} 1\n", "no line of the format" },
	{ COUNTER "c_total{a=\"\\x\"} 1\n", "no line of the format" },
	{ COUNTER "c_total{a=\"x\" 1\n", "no line of the format" },
	{ COUNTER "c_total 1", "a line without an end" },
	{ COUNTER "c_total{a=\"\xff\"} 1\n", "not UTF-8, or a NUL" },
	{ COUNTER "c_total{a=\"\x1b[2J\"} 1\n", NULL },
	{ COUNTER "c_total{a=\"x\"} 1\nc_total{a=\"x\"} 1\n", "a series for the second time" },
	{ COUNTER "c_total 1\n" COUNTER, "a family for the second time" },
	{ COUNTER "d_total 1\n", "a sample of another family" },
	{ COUNTER "c_total_sum 1\n", "a sample of another family" },
	{ "# TYPE g thing\n", "a type that does not exist" },
	{ "# g\n", "a comment that is neither HELP nor TYPE" },
	{ HISTOGRAM "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\n", "buckets that fall" },
	{ HISTOGRAM "h_bucket{le=\"1\"} 3\nh_bucket{le=\"1\"} 3\n",
	  "a series for the second time" },
	{ HISTOGRAM "h_bucket{le=\"2\"} 3\nh_bucket{le=\"1\"} 3\n", "bounds that do not rise" },
	{ HISTOGRAM "h_bucket{le=\"1\"} 3\nh_sum 1\nh_count 3\n",
	  "a histogram without the bucket of +Inf" },
	{ HISTOGRAM "h_bucket{le=\"+Inf\"} 3\nh_sum 1\nh_count 4\n",
	  "a count other than the last bucket" },
};

static void texts_are_told_from_bytes(void **state)
{
	static const char nul[] = "# HELP x \0.\n";
	const char *line;

	(void)state;
	assert_true(is_clean_text("\xc3\xa4\n", 3));
	assert_false(is_clean_text("\xc2\x9b", 2));     /* a control sequence introducer */
	assert_false(is_clean_text("\xe2\x80\xae", 3)); /* right-to-left override */
	assert_false(is_clean_text("\x1b[2J", 4));
	assert_true(is_utf8("\x1b[2J", 4));
	assert_false(is_utf8("\xc3", 1));
	assert_non_null(page_fault(nul, sizeof nul - 1, &line));
}

static void every_fault_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *line;
		const char *fault = page_fault(cases[i].page, strlen(cases[i].page), &line);

		if (cases[i].fault) {
			assert_non_null(fault);
			assert_string_equal(fault, cases[i].fault);
		} else if (fault) {
			fail_msg("%s in \"%s\"", fault, cases[i].page);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_told_from_bytes),
		cmocka_unit_test(every_fault_is_found),
	};

	return cmocka_run_group_tests_name("page_oracle", tests, NULL, NULL);
}
