/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/glob.h"

static void patterns_are_those_of_shells(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches, nocase;
	} cases[] = {
		{ "", "", true, true },
		{ "", "a", false, false },
		{ "*", "", true, true },
		{ "*", "anything", true, true },
		{ "?", "", false, false },
		{ "?", "a", true, true },
		{ "a?c", "abc", true, true },
		{ "a?c", "ABC", false, true },
		{ "*.yaml", "x.yaml", true, true },
		{ "*.yaml", "x.yamlx", false, false },
		{ "a*b*c", "axxbxxc", true, true },
		{ "a*b*c", "axxcxxb", false, false },
		{ "*ab", "aab", true, true },
		{ "a**", "a", true, true },
		{ "Kernel-*", "kernel-file", false, true },
		{ "[a]", "a", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("  %s  %s\n", cases[i].pattern, cases[i].name);
		assert_int_equal(glob_matches(cases[i].pattern, cases[i].name), cases[i].matches);
		assert_int_equal(glob_matches_nocase(cases[i].pattern, cases[i].name),
				 cases[i].nocase);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(patterns_are_those_of_shells) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
