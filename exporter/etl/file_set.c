/* SPDX-License-Identifier: MIT */
#include "etl/file_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/os.h"

/* The * is at path[star]; name is the last component. */
struct search {
	struct etl_file_set *set;
	size_t capacity;
	const char *path;
	size_t folder_size; /* of the path, up to its last component */
	size_t star;
	struct error *err;
	bool failed;
};

/* The number in place of the *; false if the name is none of the set. */
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

static bool on_name(void *context, const char *name)
{
	struct search *search = context;
	struct etl_file_set *set = search->set;
	struct etl_numbered *files;
	struct text path = { 0 };
	uint64_t number;

	if (!number_of(search, name, &number)) {
		return true;
	}
	if (set->count == ETL_FILE_SET_MAX) {
		search->failed = true;
		return error_set(search->err, ERROR_LIMIT, "%s: has more than %d files",
				 search->path, (int)ETL_FILE_SET_MAX);
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
	set->files[set->count++] = (struct etl_numbered){ path.data, number };
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct etl_numbered *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static bool check_numbers(const struct etl_file_set *set, struct error *err)
{
	for (size_t i = 1; i < set->count; i++) {
		if (set->files[i].number == set->files[i - 1].number) {
			return error_set(err, ERROR_FORMAT,
					 "%s has the same number as %s: give them one by one",
					 set->files[i].path, set->files[i - 1].path);
		}
	}
	return true;
}

bool etl_file_set_find(struct etl_file_set *set, const char *path, struct error *err)
{
	struct search search = {
		.set = set,
		.path = path,
		.folder_size = (size_t)(os_path_name(path) - path),
		.err = err,
	};
	const char *star = strchr(path + search.folder_size, '*');
	struct os_file_stamp stamp;
	struct text folder = { 0 };

	*set = (struct etl_file_set){ 0 };
	if (!star || strchr(star + 1, '*')) {
		return true;
	}
	search.star = (size_t)(star - path);
	os_file_stamp(path, &stamp);
	if (stamp.number != 0 || stamp.volume != 0) {
		return true;
	}
	text_add(&folder, path, search.folder_size);
	text_add_string(&folder, "."); /* also of "C:" */
	if (folder.failed) {
		text_free(&folder);
		return error_no_memory(err, "the name of a folder");
	}
	os_folder_list(folder.data, on_name, &search);
	text_free(&folder);
	if (set->count > 0) {
		qsort(set->files, set->count, sizeof *set->files, compare);
	}
	if (search.failed || !check_numbers(set, err)) {
		etl_file_set_done(set);
		return false;
	}
	return true;
}

void etl_file_set_done(struct etl_file_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->files[i].path);
	}
	free(set->files);
	*set = (struct etl_file_set){ 0 };
}

static void add_range(struct text *out, uint64_t first, uint64_t last)
{
	text_add_string(out, out->size > 0 ? ", " : "numbers of the set are missing: ");
	text_add_u64(out, first);
	if (last > first) {
		text_add_format(out, " to %" PRIu64, last);
	}
}

void etl_file_set_add_gaps(const struct etl_file_set *set, struct text *out)
{
	uint64_t next = 1; /* of the first file (assumed; relog --split does so) */

	for (size_t i = 0; i < set->count; i++) {
		uint64_t number = set->files[i].number;

		if (number > next) {
			add_range(out, next, number - 1);
		}
		next = number + 1;
	}
}
