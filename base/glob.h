/* SPDX-License-Identifier: MIT */
/*
 * Patterns for names and paths. Matching takes time proportional to the product of both lengths at
 * most, and allocates no memory.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATH_GLOB_SIZE_MAX = 255 }; /* most bytes of a path pattern in the configuration */

/* Patterns like those of shells: `*` matches any bytes, `?` matches one byte, and other bytes match
 * themselves. The pattern must match the whole name. */
bool glob_matches(const char *pattern, const char *name);

/* As glob_matches(), without regard to the case of ASCII letters. */
bool glob_matches_nocase(const char *pattern, const char *name);

/*
 * For paths of Windows: `*` matches any bytes within a component, `?` one character of it, `**` any
 * text, also over several components, and `**\` zero or more components. All other characters match
 * themselves, without regard to the case of ASCII letters; a slash in the pattern matches a
 * backslash. The pattern must match the whole path and is UTF-8.
 */
bool path_glob_matches(const char *pattern, const char *path, size_t size);

/*
 * As path_glob_matches(), with a limit on the work. *steps is the number of characters that may
 * still be compared. The function subtracts those that it compared; if they did not suffice, *steps
 * becomes 0 and the result is PATH_GLOB_NOT_DONE.
 */
enum path_glob_result { PATH_GLOB_DIFFERS, PATH_GLOB_MATCHES, PATH_GLOB_NOT_DONE };
enum path_glob_result path_glob_match(const char *pattern, const char *path, size_t size,
				      uint64_t *steps);

/*
 * Returns the bytes of literal text at the end of the pattern; 0 for a pattern that ends in a star.
 * Every path that matches ends with this text. Checking that first is much cheaper than matching,
 * and rules out most paths.
 */
size_t path_glob_end_size(const char *pattern);
bool path_glob_ends(const char *pattern, size_t end_size, const char *path, size_t size);

#endif
