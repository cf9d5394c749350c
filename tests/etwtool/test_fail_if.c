/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "etwtool/diff/diff.h"

static struct fail_if *parse(const char *text)
{
	struct etw_error err = { 0 };
	struct fail_if *condition = fail_if_parse(text, &err);

	print_message("  %s %s\n", text, err.text);
	assert_non_null(condition);
	return condition;
}

static void comparisons_hold_as_they_read(void **state)
{
	static const struct {
		const char *comparison;
		double a, b;
		bool holds;
	} cases[] = {
		{ "> 5", 0, 5, false },        { "> 5", 0, 5.001, true },
		{ ">= 5", 9, 5, true },        { "< 5", 9, 5, false },
		{ "<= 5", 0, 5, true },        { "== 5", 0, 5, true },
		{ "!= 5", 0, 5, false },       { "!= 5", 5, 6, true },
		{ ">-1", 0, 0, true },         { "> +20 %", 100, 120, false },
		{ "> +20 %", 100, 121, true }, { "> 20%", 100, 121, true },
		{ "< -20 %", 100, 79, true },  { "< -20 %", 100, 80, false },
		{ "<= -20 %", 100, 80, true }, { "> 1.5e1 %", 100, 116, true },
		{ "> +20 %", 0, 1, true }, /* what is new has grown without bound */
		{ "> +20 %", 0, 0, false },    { "== 0 %", 0, 0, true },
		{ "> 0 %", -10, -5, true },    { "< -99 %", 7, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text text = { 0 };
		struct fail_if *condition;

		text_add_format(&text, "x_total %s", cases[i].comparison);
		condition = parse(text.data);
		assert_int_equal(fail_if_holds(condition, cases[i].a, cases[i].b), cases[i].holds);
		fail_if_free(condition);
		text_free(&text);
	}
}

static void a_value_that_is_missing_fulfils_nothing(void **state)
{
	static const char *const texts[] = { "x > 0", "x != 0", "x < 0 %", "x != 0 %" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct fail_if *condition = parse(texts[i]);

		assert_false(fail_if_holds(condition, 1, NAN));
		fail_if_free(condition);
	}
}

static void selectors_select_as_in_promql(void **state)
{
	static const struct {
		const char *selector, *labels;
		bool selects;
	} cases[] = {
		{ "x", "", true },
		{ "x{}", "process=\"a\"", true },
		{ "y", "process=\"a\"", false },
		{ "x{process=\"a\"}", "process=\"a\",volume=\"C:\"", true },
		{ "x{process=\"a\"}", "process=\"A\"", false },
		{ "x{volume=\"C:\"}", "process=\"a\",volume=\"C:\"", true },
		{ "x { process = 'a' , volume = 'C:' , }", "process=\"a\",volume=\"C:\"", true },
		{ "x{process=\"a\",volume=\"D:\"}", "process=\"a\",volume=\"C:\"", false },
		{ "x{process!=\"a\"}", "process=\"a\"", false },
		{ "x{process!=\"a\"}", "process=\"b\"", true },
		/* A label that is not there is empty. */
		{ "x{other=\"\"}", "process=\"a\"", true },
		{ "x{other!=\"\"}", "process=\"a\"", false },
		/* A regular expression matches the whole value, and respects case. */
		{ "x{process=~\"a|b\"}", "process=\"b\"", true },
		{ "x{process=~\"a|b\"}", "process=\"ab\"", false },
		{ "x{process=~\"sql.*\"}", "process=\"sqlservr\"", true },
		{ "x{process=~\"sql\"}", "process=\"sqlservr\"", false },
		{ "x{process=~\"SQL.*\"}", "process=\"sqlservr\"", false },
		{ "x{process!~\"sql.*\"}", "process=\"sqlservr\"", false },
		{ "x{process!~\"sql.*\"}", "process=\"w3wp\"", true },
		/* Escapes of the page and of the condition. */
		{ "x{process=\"q\\\"u\\\\o\"}", "process=\"q\\\"u\\\\o\"", true },
		{ "x{process=\"two\\nlines\"}", "process=\"two\\nlines\"", true },
		{ "x{process=\"a\"}", "other=\"x,process=\\\"a\\\"\"", false },
		{ "sum(x{process=\"a\"})", "process=\"a\"", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct series series = { .labels = (char *)(uintptr_t)cases[i].labels };
		struct etw_text text = { 0 };
		struct fail_if *condition;

		text_add_format(&text, "%s > 0", cases[i].selector);
		condition = parse(text.data);
		assert_int_equal(fail_if_selects(condition, "x", &series), cases[i].selects);
		assert_int_equal(fail_if_sums(condition), cases[i].selector[0] == 's');
		fail_if_free(condition);
		text_free(&text);
	}
}

static void the_names_of_a_selector_are_shown(void **state)
{
	struct fail_if *condition = parse("sum( x{ a = \"1\", b!~'2' } ) > 0");

	(void)state;
	assert_string_equal(fail_if_metric(condition), "x");
	assert_string_equal(fail_if_label(condition, 0), "a");
	assert_string_equal(fail_if_label(condition, 1), "b");
	assert_null(fail_if_label(condition, 2));
	fail_if_free(condition);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "", "expected the name of a series at the end" },
		{ "> 5", "expected the name of a series before \"> 5\"" },
		{ "x", "expected a comparison (> >= < <= == !=) at the end" },
		{ "x = 5", "expected a comparison (> >= < <= == !=) before \"= 5\"" },
		{ "x >", "expected a number at the end" },
		{ "x > much", "expected a number before \"much\"" },
		{ "x > nan", "expected a number before \"nan\"" },
		{ "x > inf", "expected a number before \"inf\"" },
		{ "x > 0x10", "expected a number before \"0x10\"" },
		{ "x > 1e999", "expected a number before \"1e999\"" },
		{ "x > 5 % 6", "expected nothing more before \"6\"" },
		{ "x > 5 and y > 6", "expected nothing more before \"and y > 6\"" },
		{ "x{", "expected the name of a label at the end" },
		{ "x{a} > 5", "expected =, !=, =~ or !~ before \"} > 5\"" },
		{ "x{a=b} > 5", "expected a value in quotes before \"b} > 5\"" },
		{ "x{a=\"b} > 5", "expected a value in quotes before \"\"b} > 5\"" },
		{ "x{a=\"b\" c=\"d\"} > 5", "expected \",\" or \"}\" before \"c=\"d\"} > 5\"" },
		{ "sum(x > 5", "expected \")\" before \"> 5\"" },
		{ "sum(sum(x)) > 5", "expected \")\" before \"(x)) > 5\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };

		assert_null(fail_if_parse(cases[i].text, &err));
		assert_string_equal(err.text, cases[i].sentence);
	}
}

static void an_expression_cannot_leave_its_wrapping(void **state)
{
	static const char *const texts[] = { "x{a=~\"b)|(c\"} > 5", "x{a=~\"(\"} > 5" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct etw_error err = { 0 };

		assert_null(fail_if_parse(texts[i], &err));
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparisons_hold_as_they_read),
		cmocka_unit_test(a_value_that_is_missing_fulfils_nothing),
		cmocka_unit_test(selectors_select_as_in_promql),
		cmocka_unit_test(the_names_of_a_selector_are_shown),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(an_expression_cannot_leave_its_wrapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
