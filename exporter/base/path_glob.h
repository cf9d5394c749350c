/* SPDX-License-Identifier: MIT */
/*
 * Patterns for paths of Windows: `*` any bytes within a component, `?` one character of it, `**`
 * anything, components included, `**\` no component, one or several. All else is itself, ASCII
 * letters of either case alike; a slash stands for a backslash.
 *
 * Matching takes at most the product of the lengths, whatever pattern and path are made of.
 */
#ifndef BASE_PATH_GLOB_H
#define BASE_PATH_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { PATH_GLOB_SIZE_MAX = 255 }; /* bytes of a pattern */

struct path_glob; /* opaque, immutable: any thread */

/* At most PATH_GLOB_SIZE_MAX bytes are read of the pattern. NULL without memory, err set. */
struct path_glob *path_glob_new(const char *pattern, struct error *err);
void path_glob_free(struct path_glob *glob); /* NULL is fine */

/* The whole of the path. */
bool path_glob_matches(const struct path_glob *glob, const char *path, size_t size);

#endif
