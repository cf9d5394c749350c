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

/* Labels of a series, and whether the selector takes it. */
static const struct {
	const char *selector, *labels;
	bool fits;
} choices[] = {
	{ "a", "", true },
	{ "a", "x=\"1\"", true },
	{ "a{x=\"1\"}", "x=\"1\"", true },
	{ "a{x=\"1\"}", "y=\"2\",x=\"1\"", true },
	{ "a{x=\"1\"}", "x=\"2\"", false },
	{ "a{x=\"1\"}", "xx=\"1\"", false },
	{ "a{x=\"1\"}", "", false },
	{ "a{x=\"\"}", "", true },
	{ "a{x!=\"\"}", "", false },
	{ "a{x!=\"1\"}", "", true },
	{ "a{x!=\"1\"}", "x=\"2\"", true },
	{ "a{x=~\"1|2\"}", "x=\"2\"", true },
	{ "a{x=~\"1|2\"}", "x=\"12\"", false },
	{ "a{x!=\"1\",x!=\"2\"}", "x=\"2\"", false },
	{ "a{x=\"}\\\"\"}", "x=\"}\\\"\",y=\"\"", true },
};

static const char *value_in(const void *labels, const char *label)
{
	static struct etw_text value;

	text_clear(&value);
	assert_true(series_find_label(labels, label, &value));
	return value.data;
}

static void series_are_chosen_by_their_labels(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
		const char *labels = choices[i].labels;
		struct series_selector *selector = series_selector_of(choices[i].selector, NULL);

		assert_non_null(selector);
		if (series_selector_matches(selector, labels) != choices[i].fits ||
		    series_selector_accepts(selector, value_in, labels) != choices[i].fits) {
			fail_msg("%s and {%s}", choices[i].selector, labels);
		}
		series_selector_free(selector);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_selector_is_a_name_with_labels),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(series_are_chosen_by_their_labels),
	};

	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
