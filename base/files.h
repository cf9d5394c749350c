/* SPDX-License-Identifier: MIT */
/*
 * Finds the files that a pattern names, and what is missing of a path.
 */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

struct file_list {
	char **paths;     /* owned, as each path is */
	bool *by_pattern; /* owned: for each path, whether a pattern with `*` or `?` matched it */
	size_t count, capacity, by_pattern_capacity;
};

/*
 * Adds the files that pattern names, sorted by name. The last component of pattern may contain `*`
 * and `?`; these match no name that begins with a dot. A relative pattern starts at the folder of
 * the file `beside`. It is no error if a pattern matches no file, and a path without `*` and `?` is
 * added without a check that it exists.
 */
bool file_list_add(struct file_list *list, const char *beside, const char *pattern,
		   struct etw_error *err);
/* Returns the absolute path of a pattern, which the caller frees; NULL when memory runs out. */
char *file_absolute(const char *beside, const char *pattern);
void file_list_free(struct file_list *list);

/* Returns the path of a file that the file `beside` names; a relative path starts at the folder of
 * `beside`. The caller frees it. NULL when memory runs out. */
char *file_beside(const char *beside, const char *path);

/* Returns whether a path has `*` or `?` in its last component. */
bool file_is_pattern(const char *path);

/* Returns whether the path is a folder that can be read. */
bool file_is_folder(const char *path);

/* ---- what is missing of a path ---- */

/*
 * Suggests what a path that does not exist may have meant: the most similar name in the deepest
 * folder of the path that exists.
 *
 * Adds a hint to a sentence: "; did you mean 'my-collectors'?", or "; there is no folder
 * 'my-colectors'; did you mean 'my-collectors'?". Adds nothing if there is none, or if the path
 * exists. The last component may be a pattern.
 *
 * @beside: a relative path starts at the folder of this file; "" is the working directory. The hint
 * shows paths as the user wrote them, without that folder.
 */
void missing_path_suggest(const char *beside, const char *path, struct etw_text *out);

/*
 * As missing_path_suggest(), for places where any file of the folder can be meant. If no name is
 * similar, the hint shows one ("; there is 'disk.yaml', for example"), or says that the folder is
 * empty.
 */
void missing_path_explain(const char *beside, const char *path, struct etw_text *out);

#endif
