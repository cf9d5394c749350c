/* SPDX-License-Identifier: MIT */
/*
 * Patterns of names and of paths. Matching takes at most about the product of the lengths, whatever
 * pattern and text are made of, and no memory.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum { PATH_GLOB_SIZE_MAX = 255 }; /* bytes of a pattern for paths in the configuration */

/* As shells have them: `*` any bytes, `?` one byte, all else itself. The whole of the name. */
bool glob_matches(const char *pattern, const char *name);

/* Likewise, ASCII letters of either case alike. */
bool glob_matches_nocase(const char *pattern, const char *name);

/*
 * For paths of Windows: `*` any bytes within a component, `?` one character of it, `**` anything,
 * components included, `**\` no component, one or several. All else is itself, ASCII letters of
 * either case alike; a slash stands for a backslash. The whole of the path. The pattern is UTF-8.
 */
bool path_glob_matches(const char *pattern, const char *path, size_t size);

#endif
