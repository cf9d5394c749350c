/* SPDX-License-Identifier: MIT */
#include "base/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/os.h"

enum { FILES_MAX = 1024 };

/* Returns the bytes of path up to its last separator, which is included. */
static size_t folder_size(const char *path)
{
	return (size_t)(os_path_name(path) - path);
}

static bool add_path(struct file_list *list, const char *folder, size_t size, const char *name,
		     bool by_pattern, struct etw_error *err)
{
	struct etw_text path = { 0 };
	char **paths;
	bool *marks;

	if (list->count == FILES_MAX) {
		return error_set(err, ETW_ERROR_LIMIT, "more than %d files", FILES_MAX);
	}
	text_add(&path, folder, size);
	text_add_string(&path, name);
	paths = array_grow(list->paths, &list->capacity, list->count, sizeof *paths);
	list->paths = paths ? paths : list->paths;
	marks = array_grow(list->by_pattern, &list->by_pattern_capacity, list->count,
			   sizeof *marks);
	list->by_pattern = marks ? marks : list->by_pattern;
	if (!paths || !marks || path.failed || !path.data) {
		text_free(&path);
		return error_no_memory(err, "the names of files");
	}
	list->by_pattern[list->count] = by_pattern;
	list->paths[list->count++] = path.data;
	return true;
}

static int compare_paths(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* The pattern that is being expanded, for add_match(). */
struct expansion {
	struct file_list *list;
	const char *path; /* folder and pattern */
	size_t folder;    /* bytes of the folder in path */
	struct etw_error *err;
};

static bool add_match(void *context, const char *name)
{
	const struct expansion *e = context;

	return name[0] == '.' || !glob_matches(e->path + e->folder, name) ||
	       add_path(e->list, e->path, e->folder, name, true, e->err);
}

static bool expand(struct file_list *list, const char *path, size_t folder, struct etw_error *err)
{
	struct expansion expansion = { .list = list, .path = path, .folder = folder, .err = err };
	char *directory = folder > 0 ? text_duplicate(path, folder) : text_duplicate(".", 1);
	size_t first = list->count;
	bool good;

	if (!directory) {
		return error_no_memory(err, "the names of files");
	}
	good = os_folder_list(directory, add_match, &expansion);
	free(directory);
	if (list->count > first) {
		qsort(list->paths + first, list->count - first, sizeof *list->paths, compare_paths);
	}
	return good;
}

/* Makes the path of a pattern; a relative pattern starts at the folder of beside. Returns false
 * when memory runs out. */
static bool join(struct etw_text *path, const char *beside, const char *pattern)
{
	if (!os_path_is_absolute(pattern)) {
		text_add(path, beside, folder_size(beside));
	}
	text_add_string(path, pattern);
	return !path->failed && path->data;
}

char *file_beside(const char *beside, const char *path)
{
	struct etw_text joined = { 0 };

	if (!join(&joined, beside, path)) {
		text_free(&joined);
	}
	return joined.data;
}

bool file_list_add(struct file_list *list, const char *beside, const char *pattern,
		   struct etw_error *err)
{
	struct etw_text path = { 0 };
	size_t folder;
	bool good;

	if (!join(&path, beside, pattern)) {
		text_free(&path);
		return error_no_memory(err, "the names of files");
	}
	folder = folder_size(path.data);
	if (file_is_pattern(path.data)) {
		good = expand(list, path.data, folder, err);
	} else {
		good = add_path(list, "", 0, path.data, false, err);
	}
	text_free(&path);
	return good;
}

char *file_absolute(const char *beside, const char *pattern)
{
	struct etw_text path = { 0 };
	char *absolute = join(&path, beside, pattern) ? os_path_absolute(path.data) : NULL;

	text_free(&path);
	return absolute;
}

void file_list_free(struct file_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->paths[i]);
	}
	free(list->paths);
	free(list->by_pattern);
	*list = (struct file_list){ 0 };
}

bool file_is_pattern(const char *path)
{
	return strpbrk(os_path_name(path), "*?") != NULL;
}

static bool is_there(void *context, const char *name)
{
	(void)name;
	*(bool *)context = true;
	return false;
}

bool file_is_folder(const char *path)
{
	bool exists = false;

	os_folder_list(path[0] != '\0' ? path : ".", is_there, &exists);
	return exists;
}
