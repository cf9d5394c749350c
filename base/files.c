/* SPDX-License-Identifier: MIT */
#include "base/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/nearest.h"
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

/* ---- what is missing of a path ---- */

/* A search for a name among the entries of a folder. */
struct name_search {
	const char *name;
	bool exists;  /* the folder exists */
	bool present; /* an entry has exactly this name */
	struct nearest nearest;
	struct etw_text best;  /* copy of nearest.best */
	struct etw_text first; /* the first name by strcmp() that does not begin with a dot */
};

static bool compare_name(void *context, const char *name)
{
	struct name_search *search = context;
	const char *best = search->nearest.best;

	search->exists = true;
	search->present |= strcmp(name, search->name) == 0;
	if (name[0] == '.') {
		return true;
	}
	nearest_offer(&search->nearest, name);
	if (search->nearest.best != best) {
		text_clear(&search->best);
		text_add_string(&search->best, name);
		search->nearest.best = search->best.data;
	}
	if (!search->first.data || strcmp(name, search->first.data) < 0) {
		text_clear(&search->first);
		text_add_string(&search->first, name);
	}
	return true;
}

static void search_folder(struct name_search *search, const char *folder, const char *name)
{
	*search = (struct name_search){ .name = name,
					.nearest = { .word = name, .size = strlen(name) } };
	os_folder_list(folder[0] != '\0' ? folder : ".", compare_name, search);
}

static void name_search_done(struct name_search *search)
{
	text_free(&search->best);
	text_free(&search->first);
}

/* Cuts separators off the end of a path and returns its last component. */
static char *cut_name(char *path)
{
	char *end = path + strlen(path);

	while (end > path && (end[-1] == '/' || end[-1] == '\\')) {
		*--end = '\0';
	}
	return path + folder_size(path);
}

/* Says that a name is not in a folder. shown: the folder as the user wrote it. */
static void add_hint(struct etw_text *out, const char *shown, bool whole, bool examples,
		     const struct name_search *search)
{
	if (!whole) {
		text_add_string(out, "; there is no folder '");
		text_add_shown(out, shown);
		text_add_shown(out, search->name);
		text_add_string(out, "'");
	}
	if (search->nearest.best) {
		text_add_string(out, "; did you mean '");
		text_add_shown(out, shown);
		text_add_shown(out, search->nearest.best);
		text_add_string(out, "'?");
	} else if (whole && examples && search->first.data) {
		text_add_string(out, "; there is '");
		text_add_shown(out, shown);
		text_add_shown(out, search->first.data);
		text_add_string(out, "', for example");
	} else if (whole && examples) {
		text_add_string(out, "; the folder is empty");
	}
}

static void look_for(const char *beside, const char *given, bool examples, struct etw_text *out)
{
	size_t own = os_path_is_absolute(given) ? 0 : folder_size(beside);
	struct etw_text path = { 0 };
	bool whole = true; /* the missing name is the last component of the path */

	text_add(&path, beside, own);
	text_add_string(&path, given);
	/* Starts at the last component and goes up until the folder of the component exists. */
	for (bool more = !path.failed && path.data; more; whole = false) {
		char *name = cut_name(path.data);
		char *folder = text_duplicate(path.data, (size_t)(name - path.data));
		struct name_search search = { .exists = false };

		more = folder && name > path.data + own;
		if (folder) {
			search_folder(&search, folder, name);
		}
		if (search.exists && !search.present) {
			add_hint(out, folder + (strlen(folder) < own ? 0 : own), whole, examples,
				 &search);
		}
		more = more && !search.exists;
		name_search_done(&search);
		free(folder);
		*name = '\0';
	}
	text_free(&path);
}

void missing_path_suggest(const char *beside, const char *path, struct etw_text *out)
{
	look_for(beside, path, false, out);
}

void missing_path_explain(const char *beside, const char *path, struct etw_text *out)
{
	look_for(beside, path, true, out);
}
