/* SPDX-License-Identifier: MIT */
/*
 * Patterns as shells have them: `*` any bytes, `?` one byte, all else itself.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

/* The whole of the name. */
bool glob_matches(const char *pattern, const char *name);

/* Likewise, ASCII letters of either case alike. */
bool glob_matches_nocase(const char *pattern, const char *name);

#endif
