/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/glob.h"
#include "tests/support/exact_copy.h"

static bool matches(const char *pattern, const char *path, size_t size)
{
	uint8_t *copy = exact_copy(path, size);
	bool good = path_glob_matches(pattern, (const char *)copy, size);

	free(copy);
	return good;
}

static void a_path_is_matched_by_its_components(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} cases[] = {
		{ "", "", true },
		{ "", "C:", false },
		{ "C:\\a.txt", "C:\\a.txt", true },
		{ "c:\\A.TXT", "C:\\a.txt", true },
		{ "C:/a.txt", "C:\\a.txt", true },
		{ "C:\\a.txt", "C:\\a.txtx", false },
		{ "C:\\a.txt", "C:\\a.tx", false },
		/* one component */
		{ "D:\\logs\\*", "D:\\logs\\a", true },
		{ "D:\\logs\\*", "D:\\logs\\", true },
		{ "D:\\logs\\*", "D:\\logs\\a\\b", false },
		{ "D:\\logs\\*", "D:\\logs", false },
		{ "D:\\*\\a", "D:\\x\\a", true },
		{ "D:\\*\\a", "D:\\x\\y\\a", false },
		{ "D:\\*.log", "D:\\a.log.log", true },
		{ "D:\\*.log", "D:\\a.log.gz", false },
		{ "D:\\a*b*c", "D:\\axbxbxc", true },
		{ "D:\\a*b*c", "D:\\axc", false },
		{ "D:\\a*b*c", "D:\\ab\\c", false },
		{ "D:\\*a\\*b", "D:\\aaa\\bbb", true },
		/* several */
		{ "D:\\logs\\**", "D:\\logs\\a", true },
		{ "D:\\logs\\**", "D:\\logs\\a\\b\\c", true },
		{ "D:\\logs\\**", "D:\\logs", false },
		{ "D:\\logs\\**", "D:\\logs2\\a", false },
		{ "**", "", true },
		{ "**", "D:\\a\\b", true },
		{ "**\\*.log", "D:\\a\\b.log", true },
		{ "**\\*.log", "b.log", true },
		{ "**\\*.log", "D:\\a\\b.txt", false },
		{ "C:\\d\\**\\*.log", "C:\\d\\a.log", true },
		{ "C:\\d\\**\\*.log", "C:\\d\\x\\a.log", true },
		{ "C:\\d\\**\\*.log", "C:\\d\\x\\y\\a.log", true },
		{ "C:\\d\\**\\*.log", "C:\\dx\\a.log", false },
		{ "C:\\d\\**\\*.log", "C:\\d\\x\\a.logs", false },
		{ "C:\\**\\a\\**\\b", "C:\\x\\a\\a\\y\\b", true },
		{ "C:\\**\\a\\**\\b", "C:\\x\\aa\\y\\b", false },
		{ "C:\\a**b", "C:\\a\\x\\b", true }, /* not a whole component */
		{ "C:\\a**\\b", "C:\\ab", false },
		{ "C:\\a**\\b", "C:\\a\\b", true },
		{ "***", "C:\\a", true },
		/* one character, of however many bytes */
		{ "C:\\?", "C:\\a", true },
		{ "C:\\?", "C:\\", false },
		{ "C:\\?", "C:\\ab", false },
		{ "C:?a", "C:\\a", false },
		{ "C:\\?.txt", "C:\\\xc3\xa4.txt", true },
		{ "C:\\?.txt", "C:\\\xf0\x9f\x98\x80.txt", true },
		{ "C:\\??.txt", "C:\\\xc3\xa4.txt", false },
		{ "C:\\??.txt", "C:\\\xc3\xa4\xc3\xa4.txt", true },
		{ "C:\\?", "C:\\\x80", false }, /* no character begins so */
		{ "C:\\*", "C:\\\xff\x80", true },
		/* letters beyond ASCII have no case here */
		{ "C:\\\xc3\xa4", "C:\\\xc3\x84", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("  '%s' '%s'\n", cases[i].pattern, cases[i].path);
		assert_int_equal(matches(cases[i].pattern, cases[i].path, strlen(cases[i].path)),
				 cases[i].matches);
	}
}

/* The textbook definition, without any care for time. */
static bool slowly(const char *pattern, const char *path, bool start)
{
	if (pattern[0] == '\0') {
		return path[0] == '\0';
	}
	if (pattern[0] == '*' && pattern[1] == '*') {
		if (start && pattern[2] == '\\' && slowly(pattern + 3, path, true)) {
			return true;
		}
		return slowly(pattern + 2, path, false) ||
		       (path[0] != '\0' && slowly(pattern, path + 1, false));
	}
	if (pattern[0] == '*') {
		return slowly(pattern + 1, path, false) ||
		       (path[0] != '\0' && path[0] != '\\' && slowly(pattern, path + 1, false));
	}
	if (path[0] == '\0' || (pattern[0] == '?' ? path[0] == '\\' : pattern[0] != path[0])) {
		return false;
	}
	return slowly(pattern + 1, path + 1, pattern[0] == '\\');
}

static void random_text(char *text, size_t most, const char *letters, uint32_t *seed)
{
	size_t size, count = strlen(letters);

	*seed = *seed * 1664525 + 1013904223;
	size = (*seed >> 16) % (most + 1);
	for (size_t i = 0; i < size; i++) {
		*seed = *seed * 1664525 + 1013904223;
		text[i] = letters[(*seed >> 16) % count];
	}
	text[size] = '\0';
}

static void random_patterns_match_by_the_definition(void **state)
{
	enum { ROUNDS = 100000, MOST = 8 };
	uint32_t seed = 1;
	unsigned matched = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		char pattern[MOST + 1], path[MOST + 1];
		bool expected;

		random_text(pattern, MOST, "a\\**?", &seed);
		random_text(path, MOST, "ab\\", &seed);
		if (strstr(pattern, "***")) {
			continue; /* two ways to read it, of one meaning except for `**\` */
		}
		expected = slowly(pattern, path, true);
		matched += expected;
		if (matches(pattern, path, strlen(path)) != expected) {
			fail_msg("'%s' '%s': expected %d", pattern, path, expected);
		}
	}
	assert_in_range(matched, ROUNDS / 100, ROUNDS);
}

/* Each star doubles the work of a matcher that goes back; here it adds. */
static void no_path_makes_a_pattern_slow(void **state)
{
	enum { STARS = PATH_GLOB_SIZE_MAX / 4, SIZE = 4096 };
	char pattern[PATH_GLOB_SIZE_MAX + 1] = "";
	char *path = malloc(SIZE);

	(void)state;
	assert_non_null(path);
	memset(path, 'a', SIZE);
	for (unsigned i = 0; i < STARS; i++) {
		strcat(pattern, i % 2 ? "**a" : "*a");
	}
	strcat(pattern, "b");
	assert_false(matches(pattern, path, SIZE));
	path[SIZE - 1] = 'b';
	assert_true(matches(pattern, path, SIZE));
	free(path);
}

/* A pattern's literal end never says no to a path that the pattern matches. */
static void the_literal_end_agrees_with_the_pattern(void **state)
{
	enum { ROUNDS = 100000, MOST = 8 };
	static const struct {
		const char *pattern;
		size_t end_size;
	} cases[] = {
		{ "**\\*.log", 4 }, { "**\\a", 1 }, { "C:\\a*\\b", 2 }, { "C:\\logs\\**", 0 },
		{ "C:\\a", 4 },     { "a?b", 1 },   { "**", 0 },        { "**\\", 0 },
	};
	uint32_t seed = 7;
	unsigned matched = 0, differed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(path_glob_end_size(cases[i].pattern), cases[i].end_size);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		char pattern[MOST + 1], path[MOST + 1];
		bool ends;

		random_text(pattern, MOST, "a\\**?b/", &seed);
		random_text(path, MOST, "aAb\\", &seed);
		ends = path_glob_ends(pattern, path_glob_end_size(pattern), path, strlen(path));
		if (matches(pattern, path, strlen(path))) {
			matched++;
			if (!ends) {
				fail_msg("'%s' '%s': the end differs", pattern, path);
			}
		}
		differed += !ends;
	}
	assert_in_range(matched, ROUNDS / 100, ROUNDS);
	assert_in_range(differed, ROUNDS / 4, ROUNDS);
}

/* The work is counted, not timed: at most twice the product of the lengths. */
static void the_work_is_bounded_by_the_lengths(void **state)
{
	enum { SIZE = 1024 };
	static const char *const patterns[] = { "**a*a*a*a*a*b", "**\\logs\\**\\*1.log",
						"**a**a**a**a**b", "*a?*a?*a?*b", "**\\**\\**b" };
	char path[SIZE];

	(void)state;
	for (unsigned folders = 0; folders < 2; folders++) {
		memset(path, 'a', SIZE);
		for (size_t i = 0; folders && i < SIZE; i += 8) {
			path[i] = '\\';
		}
		for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
			uint64_t most = 2 * (SIZE + 1) * (strlen(patterns[i]) + 1), steps = most;

			assert_int_equal(path_glob_match(patterns[i], path, SIZE, &steps),
					 PATH_GLOB_DIFFERS);
			assert_true(steps > 0);
			/* One step less than it took is not enough. */
			steps = most - steps;
			assert_int_equal(path_glob_match(patterns[i], path, SIZE, &steps),
					 PATH_GLOB_NOT_DONE);
			assert_int_equal(steps, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_literal_end_agrees_with_the_pattern),
		cmocka_unit_test(the_work_is_bounded_by_the_lengths),
		cmocka_unit_test(a_path_is_matched_by_its_components),
		cmocka_unit_test(random_patterns_match_by_the_definition),
		cmocka_unit_test(no_path_makes_a_pattern_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
