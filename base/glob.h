/* SPDX-License-Identifier: MIT */
/*
 * Patterns of names and of paths. For every pattern and text, matching takes at most about the
 * product of their lengths, and no memory.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATH_GLOB_SIZE_MAX = 255 }; /* bytes of a pattern for paths in the configuration */

/* Patterns like those of shells: `*` matches any bytes, `?` one byte, other bytes themselves. The
 * pattern must match the whole name. */
bool glob_matches(const char *pattern, const char *name);

/* The same without regard to the case of ASCII letters. */
bool glob_matches_nocase(const char *pattern, const char *name);

/*
 * For paths of Windows: `*` matches any bytes within a component, `?` one character of it, `**` any
 * text, also over several components, and `**\` zero or more components. All other characters match
 * themselves, without regard to the case of ASCII letters; a slash in the pattern matches a
 * backslash. The pattern must match the whole path and is UTF-8.
 */
bool path_glob_matches(const char *pattern, const char *path, size_t size);

/*
 * The same with a limit on the work. *steps: how many characters may still be compared; it falls by
 * those that were, and is 0 afterwards if there were not enough.
 */
enum path_glob_result { PATH_GLOB_DIFFERS, PATH_GLOB_MATCHES, PATH_GLOB_NOT_DONE };
enum path_glob_result path_glob_match(const char *pattern, const char *path, size_t size,
				      uint64_t *steps);

/*
 * The size of the literal text with which each path ends that the pattern matches; 0 for a pattern
 * that ends in a star. Whether a path ends with it takes far less work than to match, and decides
 * about most paths.
 */
size_t path_glob_end_size(const char *pattern);
bool path_glob_ends(const char *pattern, size_t end_size, const char *path, size_t size);

#endif
