/* SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>

#include "base/array.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/os.h"
#include "base/text.h"

struct search {
	struct etw_file_set *set;
	/* Returns whether the search takes a file of this name, and its number. */
	bool (*takes)(const struct search *search, const char *name, uint64_t *number);
	size_t capacity;
	const char *path;
	size_t folder_size; /* bytes of the path up to its last component */
	size_t star;        /* offset of the * in the path, in bytes; only for a set */
	struct etw_error *err;
	bool failed;
};

/* Reads the number in place of the *. Returns false if the name does not belong to the set. */
static bool number_of(const struct search *search, const char *name, uint64_t *number)
{
	const char *before = search->path + search->folder_size;
	const char *behind = search->path + search->star + 1;
	size_t before_size = search->star - search->folder_size, behind_size = strlen(behind);
	size_t size = strlen(name), digits = size - before_size - behind_size;

	if (size <= before_size + behind_size || strncmp(name, before, before_size) != 0 ||
	    strcmp(name + size - behind_size, behind) != 0) {
		return false;
	}
	return strspn(name + before_size, "0123456789") >= digits &&
	       parse_u64(name + before_size, digits, number);
}

/* Returns whether the pattern matches. As in shells, * and ? do not match names that begin with a
 * dot. */
static bool matches(const struct search *search, const char *name, uint64_t *number)
{
	const char *pattern = search->path + search->folder_size;

	*number = 0;
	return (name[0] != '.' || pattern[0] == '.') && glob_matches_nocase(pattern, name);
}

static bool on_name(void *context, const char *name)
{
	struct search *search = context;
	struct etw_file_set *set = search->set;
	struct etw_numbered *files;
	struct etw_text path = { 0 };
	uint64_t number;

	if (!search->takes(search, name, &number)) {
		return true;
	}
	if (set->count == ETW_FILE_SET_MAX) {
		search->failed = true;
		return error_set(search->err, ETW_ERROR_LIMIT, "%s: has more than %d files",
				 search->path, (int)ETW_FILE_SET_MAX);
	}
	files = array_grow(set->files, &search->capacity, set->count, sizeof *files);
	text_add(&path, search->path, search->folder_size);
	text_add_string(&path, name);
	if (!files || path.failed) {
		text_free(&path);
		set->files = files ? files : set->files;
		search->failed = true;
		return error_no_memory(search->err, "the files of a recording");
	}
	set->files = files;
	set->files[set->count++] = (struct etw_numbered){ path.data, number };
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct etw_numbered *x = a, *y = b;
	int order = (x->number > y->number) - (x->number < y->number);

	return order ? order : strcmp(x->path, y->path);
}

static bool is_there(const char *path)
{
	struct os_file_stamp stamp;

	os_file_stamp(path, &stamp);
	return stamp.number != 0 || stamp.volume != 0;
}

/* Adds the files of the folder that the search takes to the set. */
static bool look(struct search *search)
{
	struct etw_file_set *set = search->set;
	struct etw_text folder = { 0 };

	text_add(&folder, search->path, search->folder_size);
	text_add_string(&folder, "."); /* also for "C:" */
	if (folder.failed) {
		text_free(&folder);
		return error_no_memory(search->err, "the name of a folder");
	}
	search->failed |= !os_folder_read(folder.data, on_name, search, search->err);
	text_free(&folder);
	if (set->count > 0) {
		qsort(set->files, set->count, sizeof *set->files, compare);
	}
	return !search->failed;
}

static bool check_numbers(const struct etw_file_set *set, struct etw_error *err)
{
	for (size_t i = 1; i < set->count; i++) {
		if (set->files[i].number == set->files[i - 1].number) {
			return error_set(err, ETW_ERROR_FORMAT,
					 "%s has the same number as %s: give them one by one",
					 set->files[i].path, set->files[i - 1].path);
		}
	}
	return true;
}

bool etw_file_set_find(struct etw_file_set *set, const char *path, struct etw_error *err)
{
	struct search search = {
		.set = set,
		.takes = number_of,
		.path = path,
		.folder_size = (size_t)(os_path_name(path) - path),
		.err = err,
	};
	const char *star = strchr(path + search.folder_size, '*');

	*set = (struct etw_file_set){ 0 };
	if (!star || strchr(star + 1, '*') || is_there(path)) {
		return true;
	}
	search.star = (size_t)(star - path);
	if (!look(&search) || !check_numbers(set, err)) {
		etw_file_set_done(set);
		return false;
	}
	return true;
}

bool etw_file_set_match(struct etw_file_set *set, const char *path, struct etw_error *err)
{
	struct search search = {
		.set = set,
		.takes = matches,
		.path = path,
		.folder_size = (size_t)(os_path_name(path) - path),
		.err = err,
	};
	const char *name = path + search.folder_size;

	*set = (struct etw_file_set){ 0 };
	/* After a colon comes the name of a file in an archive. */
	if (!strpbrk(name, "*?") || strchr(name, ':') || is_there(path)) {
		return true;
	}
	if (!look(&search)) {
		etw_file_set_done(set);
		return false;
	}
	return set->count > 0 ||
	       error_set(err, ETW_ERROR_SYSTEM, "%s: no file has such a name", path);
}

void etw_file_set_done(struct etw_file_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->files[i].path);
	}
	free(set->files);
	*set = (struct etw_file_set){ 0 };
}

static void add_range(struct etw_text *out, uint64_t first, uint64_t last)
{
	text_add_string(out, out->size > 0 ? ", " : "numbers of the set are missing: ");
	text_add_u64(out, first);
	if (last > first) {
		text_add_format(out, " to %" PRIu64, last);
	}
}

void etw_file_set_add_gaps(const struct etw_file_set *set, struct etw_text *out)
{
	uint64_t next = 1; /* number of the first file (assumed; relog --split begins so) */

	for (size_t i = 0; i < set->count; i++) {
		uint64_t number = set->files[i].number;

		if (number > next) {
			add_range(out, next, number - 1);
		}
		next = number + 1;
	}
}
