/* SPDX-License-Identifier: MIT */
/*
 * Patterns are matched without being compiled. After a mismatch the matcher returns only to the
 * last star, which then matches one character more. Earlier stars need not be tried with other
 * lengths, because the last star can match the same text.
 *
 * Patterns for paths have two stars. A `*` matches inside a component; where it fails up to the end
 * of the component, the matcher goes back to the last `**`. Each star matches the shortest text
 * with which the rest of the pattern can match, because a longer one only reaches the same places
 * later. For the same reason a `*` that failed up to the end of a component is not tried again
 * inside it, wherever `**` ends by then. So the work is at most about the product of the lengths.
 *
 * pcre2_pattern_convert() would need a compiled pattern at each caller. It also compares letters
 * beyond ASCII without case, as PCRE2 does in UTF-8, and counts no steps over several patterns.
 */
#include "base/glob.h"

#include <string.h>

#include "base/text.h"

static bool matches(const char *pattern, const char *name, bool nocase)
{
	const char *star = NULL, *retry = NULL;

	while (*name != '\0') {
		char expected = nocase ? ascii_lower(*pattern) : *pattern;
		char found = nocase ? ascii_lower(*name) : *name;

		if (*pattern == '*') {
			star = pattern++;
			retry = name;
		} else if (*pattern == '?' || expected == found) {
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

/* ---- paths ---- */

static char plain(char c)
{
	return c == '/' ? '\\' : ascii_lower(c);
}

/* Returns whether a byte of UTF-8 continues the character before it. */
static bool goes_on(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Returns the end of the text that `?` or a literal byte matches; NULL if it does not match. */
static const char *match_one(const char *pattern, const char *path, const char *end)
{
	if (path == end || *pattern == '\0') {
		return NULL;
	}
	if (*pattern != '?') {
		return plain(*pattern) == plain(*path) ? path + 1 : NULL;
	}
	if (plain(*path) == '\\' || goes_on(*path)) {
		return NULL;
	}
	do {
		path++;
	} while (path < end && goes_on(*path));
	return path;
}

size_t path_glob_end_size(const char *pattern)
{
	size_t size = strlen(pattern), at = size;

	while (at > 0 && pattern[at - 1] != '*' && pattern[at - 1] != '?') {
		at--;
	}
	/* The backslash of a `**\` that matches no component is not in the path. */
	if (at >= 2 && at < size && pattern[at - 2] == '*' && plain(pattern[at]) == '\\') {
		at++;
	}
	return size - at;
}

bool path_glob_ends(const char *pattern, size_t end_size, const char *path, size_t size)
{
	const char *end = pattern + strlen(pattern) - end_size;

	if (size < end_size) {
		return false;
	}
	path += size - end_size;
	for (size_t i = end_size; i > 0; i--) {
		if (plain(end[i - 1]) != plain(path[i - 1])) {
			return false;
		}
	}
	return true;
}

bool path_glob_matches(const char *pattern, const char *path, size_t size)
{
	uint64_t steps = UINT64_MAX;

	return path_glob_match(pattern, path, size, &steps) == PATH_GLOB_MATCHES;
}

enum path_glob_result path_glob_match(const char *glob, const char *path, size_t size,
				      uint64_t *steps)
{
	const char *end = path + size, *at = glob, *next;
	/* The pattern after the last `*` and the last `**`, and where in the path to try it. */
	const char *star = NULL, *star_path = NULL;
	const char *stars = NULL, *stars_path = NULL;
	/* The `*` that has failed everywhere up to the end of its component, and that end. */
	const char *failed = NULL, *failed_end = NULL;

	for (; *steps > 0; --*steps) {
		if (at[0] == '*' && at[1] == '*') {
			bool whole = (at == glob || plain(at[-1]) == '\\') && plain(at[2]) == '\\';

			star = NULL;
			stars = at + 2;
			stars_path = whole ? path : path + 1;
			at += whole ? 3 : 2;
			continue;
		}
		if (*at == '*') {
			at++;
			star = at;
			star_path = path;
			if (at != failed || path > failed_end) {
				continue;
			}
			star = NULL;
		} else if ((next = match_one(at, path, end)) != NULL) {
			at++;
			path = next;
			continue;
		} else if (path == end && *at == '\0') {
			return PATH_GLOB_MATCHES;
		}
		if (star && star_path < end && plain(*star_path) != '\\') {
			at = star;
			path = ++star_path;
			continue;
		}
		if (star) {
			failed = star;
			failed_end = star_path;
			star = NULL;
		}
		if (!stars || stars_path > end) {
			return PATH_GLOB_DIFFERS;
		}
		at = stars;
		path = stars_path++;
	}
	return PATH_GLOB_NOT_DONE;
}
