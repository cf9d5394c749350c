/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/series.h"

static void a_selector_is_a_name_with_labels(void **state)
{
	static const char *const texts[] = { "a_total", "a_total{}",
					     "a_total{ x=\"1, \\\"2\\\"\" , y != '\\\\\\n', } " };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct series_selector *selector = series_selector_of(texts[i], NULL);

		assert_non_null(selector);
		assert_string_equal(series_selector_name(selector), "a_total");
		assert_int_equal(series_selector_matches(selector, "x=\"1, \\\"2\\\"\""), true);
		assert_int_equal(series_selector_matches(selector, "x=\"1\""), i < 2);
		series_selector_free(selector);
	}
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "name of a series at the end" },
		{ "1a", "name of a series before" },
		{ "{x=\"1\"}", "name of a series before" },
		{ "a b", "nothing more before \"b\"" },
		{ "a{x=1}", "a value in quotes before" },
		{ "a{x=\"1}", "a value in quotes before" },
		{ "a{x~\"1\"}", "=, !=, =~ or !~ before" },
		{ "a{x=\"1\" y=\"2\"}", "\",\" or \"}\" before" },
		{ "a{x=\"1\"", "\",\" or \"}\" at the end" },
		{ "a{", "name of a label at the end" },
		{ "a{x=\"1\"} > 3", "nothing more before \"> 3\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct etw_error err = { 0 };

		assert_null(series_selector_of(rows[i].text, &err));
		if (!strstr(err.text, rows[i].says)) {
			fail_msg("%s: %s", rows[i].text, err.text);
		}
	}
}

static void lines_of_a_page_are_chosen(void **state)
{
	static const struct {
		const char *choice, *line;
		bool fits;
		double value;
	} rows[] = {
		{ "a", "a 1", true, 1 },
		{ "a", "a{x=\"1\"} 2.5", true, 2.5 },
		{ "a", "ab 1", false, 0 },
		{ "a", "b 1", false, 0 },
		{ "a", "a", false, 0 },
		{ "a", "# TYPE a counter", false, 0 },
		{ "a{x=\"1\"}", "a{x=\"1\"} 3", true, 3 },
		{ "a{x=\"1\"}", "a{y=\"2\",x=\"1\"} 3", true, 3 },
		{ "a{x=\"1\"}", "a{x=\"2\"} 3", false, 0 },
		{ "a{x=\"1\"}", "a{xx=\"1\"} 3", false, 0 },
		{ "a{x=\"1\"}", "a 3", false, 0 },
		{ "a{x=\"\"}", "a 3", true, 3 },
		{ "a{x!=\"\"}", "a 3", false, 0 },
		{ "a{x!=\"1\"}", "a 3", true, 3 },
		{ "a{x!=\"1\"}", "a{x=\"2\"} 3", true, 3 },
		{ "a{x=~\"1|2\"}", "a{x=\"2\"} 3", true, 3 },
		{ "a{x=~\"1|2\"}", "a{x=\"12\"} 3", false, 0 },
		{ "a{x!=\"1\",x!=\"2\"}", "a{x=\"2\"} 3", false, 0 },
		{ "a{x=\"}\\\"\"}", "a{x=\"}\\\"\",y=\"\"} 1e3", true, 1000 },
		{ "a{x=\"1\"}", "a{x=\"1", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct series_selector *selector = series_selector_of(rows[i].choice, NULL);
		double value = 0;

		assert_non_null(selector);
		if (series_selector_matches_line(selector, series_selector_name(selector),
						 rows[i].line, &value) != rows[i].fits ||
		    value < rows[i].value || value > rows[i].value) {
			fail_msg("%s and %s: %g", rows[i].choice, rows[i].line, value);
		}
		series_selector_free(selector);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_selector_is_a_name_with_labels),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(lines_of_a_page_are_chosen),
	};

	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
