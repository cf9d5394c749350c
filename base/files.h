/* SPDX-License-Identifier: MIT */
/*
 * Finds the files that a pattern names.
 */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

struct file_list {
	char **paths;     /* owned, and each path in it */
	bool *by_pattern; /* owned: whether a path is one of those that a pattern matched */
	size_t count, capacity, by_pattern_capacity;
};

/*
 * Adds the files that pattern names, sorted by name: a path whose last component may hold `*` and
 * `?`, which match no name that begins with a dot. A relative path starts at the folder of the file
 * `beside`. A pattern may match no file. Whether a path without `*` and `?` exists is not checked.
 */
bool file_list_add(struct file_list *list, const char *beside, const char *pattern,
		   struct etw_error *err);
/* The path of a pattern from the root, for the caller to free; NULL without memory. */
char *file_absolute(const char *beside, const char *pattern);
void file_list_free(struct file_list *list);

/* The path of a file that the file `beside` names; a relative one starts at the folder of that
 * file. The caller frees it; NULL without memory. */
char *file_beside(const char *beside, const char *path);

/* Whether a path has `*` or `?` in its last component. */
bool file_is_pattern(const char *path);

/* Whether there is a folder of this path that can be read. */
bool file_is_folder(const char *path);

#endif
