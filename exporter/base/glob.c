/* SPDX-License-Identifier: MIT */
#include "base/glob.h"

#include "base/text.h"

/* Goes back to the last `*` only, so the work is at most the product of the lengths. */
static bool matches(const char *pattern, const char *name, bool nocase)
{
	const char *star = NULL, *retry = NULL;

	while (*name != '\0') {
		char wanted = nocase ? ascii_lower(*pattern) : *pattern;
		char found = nocase ? ascii_lower(*name) : *name;

		if (*pattern == '*') {
			star = pattern++;
			retry = name;
		} else if (*pattern == '?' || wanted == found) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*') {
		pattern++;
	}
	return *pattern == '\0';
}

bool glob_matches(const char *pattern, const char *name)
{
	return matches(pattern, name, false);
}

bool glob_matches_nocase(const char *pattern, const char *name)
{
	return matches(pattern, name, true);
}
