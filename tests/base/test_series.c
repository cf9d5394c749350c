/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/series.h"

static void a_choice_is_a_family_with_labels(void **state)
{
	struct series_choice choice;

	(void)state;
	assert_true(series_choice_parse(&choice, "a_total", NULL));
	assert_string_equal(choice.family, "a_total");
	assert_int_equal(choice.label_count, 0);
	series_choice_done(&choice);
	assert_true(
		series_choice_parse(&choice, "a{ x=\"1, \\\"2\\\"\" , y != \"\\\\\\n\", }", NULL));
	assert_int_equal(choice.label_count, 2);
	assert_string_equal(choice.labels[0].name, "x");
	assert_string_equal(choice.labels[0].value, "1, \"2\"");
	assert_false(choice.labels[0].differs);
	assert_string_equal(choice.labels[1].value, "\\\n");
	assert_true(choice.labels[1].differs);
	series_choice_done(&choice);
	assert_true(series_choice_parse(&choice, "a{}", NULL));
	series_choice_done(&choice);
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "name of a family" },
		{ "1a", "name of a family" },
		{ "{x=\"1\"}", "name of a family" },
		{ "a b", "' b' stands behind" },
		{ "a{x=1}", "label x is not in quotes" },
		{ "a{x=\"1}", "label x is not in quotes" },
		{ "a{x~\"1\"}", "NAME=\"VALUE\"" },
		{ "a{x=\"1\" y=\"2\"}", "comma or } is missing" },
		{ "a{x=\"1\"", "comma or } is missing" },
		{ "a{", "NAME=\"VALUE\"" },
		{ "a{x=\"1\"} > 3", "stands behind" },
	};
	struct series_choice choice;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_false(series_choice_parse(&choice, rows[i].text, &err));
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
		{ "a{x!=\"1\",x!=\"2\"}", "a{x=\"2\"} 3", false, 0 },
		{ "a{x=\"}\\\"\"}", "a{x=\"}\\\"\",y=\"\"} 1e3", true, 1000 },
		{ "a{x=\"1\"}", "a{x=\"1", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct series_choice choice;
		double value = 0;

		assert_true(series_choice_parse(&choice, rows[i].choice, NULL));
		if (series_choice_matches(&choice, choice.family, rows[i].line,
					  strlen(rows[i].line), &value) != rows[i].fits ||
		    value < rows[i].value || value > rows[i].value) {
			fail_msg("%s and %s: %g", rows[i].choice, rows[i].line, value);
		}
		series_choice_done(&choice);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_choice_is_a_family_with_labels),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(lines_of_a_page_are_chosen),
	};

	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
