/* SPDX-License-Identifier: MIT */
#include "config/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "base/os.h"

enum { FILES_MAX = 1024 };

/* Bytes of path up to and with its last separator. */
static size_t folder_size(const char *path)
{
	return (size_t)(os_path_name(path) - path);
}

static bool add_path(struct file_list *list, const char *folder, size_t size, const char *name,
		     struct error *err)
{
	struct text path = { 0 };
	char **paths;

	if (list->count == FILES_MAX) {
		return error_set(err, ERROR_LIMIT, "more than %d files", FILES_MAX);
	}
	text_add(&path, folder, size);
	text_add_string(&path, name);
	paths = array_grow(list->paths, &list->capacity, list->count, sizeof *paths);
	if (!paths || path.failed || !path.data) {
		list->paths = paths ? paths : list->paths;
		text_free(&path);
		return error_no_memory(err, "the names of files");
	}
	list->paths = paths;
	list->paths[list->count++] = path.data;
	return true;
}

static int compare_paths(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* What is being expanded, for add_match(). */
struct expansion {
	struct file_list *list;
	const char *path; /* folder and pattern */
	size_t folder;    /* bytes of it */
	struct error *err;
};

static bool add_match(void *context, const char *name)
{
	const struct expansion *e = context;

	return name[0] == '.' || !glob_matches(e->path + e->folder, name) ||
	       add_path(e->list, e->path, e->folder, name, e->err);
}

static bool expand(struct file_list *list, const char *path, size_t folder, struct error *err)
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

/* The path of a pattern; a relative one starts at the folder of beside. False without memory. */
static bool join(struct text *path, const char *beside, const char *pattern)
{
	if (!os_path_is_absolute(pattern)) {
		text_add(path, beside, folder_size(beside));
	}
	text_add_string(path, pattern);
	return !path->failed && path->data;
}

char *file_beside(const char *beside, const char *path)
{
	struct text joined = { 0 };

	if (!join(&joined, beside, path)) {
		text_free(&joined);
	}
	return joined.data;
}

bool file_list_add(struct file_list *list, const char *beside, const char *pattern,
		   struct error *err)
{
	struct text path = { 0 };
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
		good = add_path(list, "", 0, path.data, err);
	}
	text_free(&path);
	return good;
}

char *file_absolute(const char *beside, const char *pattern)
{
	struct text path = { 0 };
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
	*list = (struct file_list){ 0 };
}

bool file_is_pattern(const char *path)
{
	return strpbrk(os_path_name(path), "*?") != NULL;
}

/* ---- the nearest existing path ---- */

/* The entries of a folder, searched for a name that it does not contain. */
struct look {
	bool exists;
	struct nearest nearest;
	struct text best;  /* nearest.best */
	struct text first; /* of its names without a dot in front, in the order of strcmp() */
};

static bool look_at(void *context, const char *name)
{
	struct look *look = context;
	const char *best = look->nearest.best;

	look->exists = true;
	if (name[0] == '.') {
		return true;
	}
	nearest_offer(&look->nearest, name);
	if (look->nearest.best != best) {
		text_clear(&look->best);
		text_add_string(&look->best, name);
		look->nearest.best = look->best.data;
	}
	if (!look->first.data || strcmp(name, look->first.data) < 0) {
		text_clear(&look->first);
		text_add_string(&look->first, name);
	}
	return true;
}

static void look_into(struct look *look, const char *folder, const char *name)
{
	*look = (struct look){ .nearest = { .word = name, .size = strlen(name) } };
	os_folder_list(folder[0] != '\0' ? folder : ".", look_at, look);
}

static void look_done(struct look *look)
{
	text_free(&look->best);
	text_free(&look->first);
}

bool file_is_folder(const char *path)
{
	struct look look;

	look_into(&look, path, "");
	look_done(&look);
	return look.exists;
}

/* The last component of a path, without separators behind it, which are cut off. */
static char *cut_name(char *path)
{
	char *end = path + strlen(path);

	while (end > path && (end[-1] == '/' || end[-1] == '\\')) {
		*--end = '\0';
	}
	return path + folder_size(path);
}

/* Says that a name is not in a folder. shown: the folder as the user wrote it. */
static void explain(struct text *out, const char *shown, const char *name, bool whole,
		    const struct look *look)
{
	if (look->nearest.best) {
		text_add_format(out, "%s%s%s%s; did you mean '%s%s'?",
				whole ? "" : "; there is no folder '", whole ? "" : shown,
				whole ? "" : name, whole ? "" : "'", shown, look->nearest.best);
	} else if (!whole) {
		text_add_format(out, "; there is no folder '%s%s'", shown, name);
	} else if (look->first.data) {
		text_add_format(out, "; there is '%s%s', for example", shown, look->first.data);
	} else {
		text_add_string(out, "; the folder is empty");
	}
}

void file_list_explain(const char *beside, const char *pattern, struct text *out)
{
	size_t own = os_path_is_absolute(pattern) ? 0 : folder_size(beside);
	struct text path = { 0 };
	bool whole = true; /* it is the last component that is not there */

	/* From the last component up to the first whose folder exists. */
	for (bool more = join(&path, beside, pattern); more; whole = false) {
		char *name = cut_name(path.data);
		char *folder = text_duplicate(path.data, (size_t)(name - path.data));
		struct look look = { .exists = false };

		more = folder && name > path.data + own;
		if (folder) {
			look_into(&look, folder, name);
		}
		if (look.exists) {
			explain(out, folder + (strlen(folder) < own ? 0 : own), name, whole, &look);
			more = false;
		}
		look_done(&look);
		free(folder);
		*name = '\0';
	}
	text_free(&path);
}
