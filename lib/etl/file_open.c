/* SPDX-License-Identifier: MIT */
/*
 * Opens recordings by their path, also those of several files.
 *
 * Several files are one input: the bytes of each file follow those of the file before, and a scan
 * that reaches the end of a file continues with the next one. So all other code reads them like one
 * file, without a copy on disk. All times are converted by the clock in the first header, so the
 * files must come from one machine and one boot.
 *
 * Two groups of records would be counted twice that way. Each file has a logfile header, and the
 * files of etwtool relog --split repeat the records that describe others. A pass over all files
 * finds both here and sets one bit for each record that walks must skip. This code does not decode
 * events, so the program provides a finder that knows the describing ones.
 */
#include <etw/mirror.h>
#include <etw/recording.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/os.h"
#include "base/print.h"
#include "base/text.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"

/* ---- the files of a set ---- */

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
	const char *after = search->path + search->star + 1;
	size_t before_size = search->star - search->folder_size, after_size = strlen(after);
	size_t size = strlen(name), digits = size - before_size - after_size;

	if (size <= before_size + after_size || strncmp(name, before, before_size) != 0 ||
	    strcmp(name + size - after_size, after) != 0) {
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
		return error_set(search->err, ETW_ERROR_LIMIT,
				 "%s: has more than %d files; name fewer with a narrower pattern",
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
static bool search_folder(struct search *search)
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
	if (!search_folder(&search) || !check_numbers(set, err)) {
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
	if (!search_folder(&search)) {
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

/* ---- repeated records ---- */

static const struct etw_repeat_finder *finding; /* NULL: repeated records are not searched for */

void etw_file_find_repeats(const struct etw_repeat_finder *finder)
{
	finding = finder;
}

/* A pass over all files. */
struct repeat_search {
	struct etw_file *file;
	void *finder; /* NULL: no finder is set */
	struct progress progress;
	bool no_memory;
};

static void look_at_record(void *context, const struct etw_record *record)
{
	struct repeat_search *search = context;
	bool first = etl_is_header(record) &&
		     record->index > 0; /* the logfile header of a later file */

	if (first && search->finder) {
		finding->next_file(search->finder);
	}
	if (first || (search->finder && finding->is_repeated(search->finder, record))) {
		search->no_memory |= !chosen_add(&search->file->passed_over, record->index);
	}
}

static bool find_repeats(struct etw_file *file, struct etw_error *err)
{
	struct repeat_search search = { .file = file,
					.finder = finding ? finding->new_finder() : NULL };
	const struct etw_visitor visitor = { .record_context = &search,
					     .on_record = look_at_record };
	struct etl_so_far so_far = { 0 };
	struct etw_damage damage = { 0 };
	struct etl_scan scan;
	struct etl_buffer buffer;
	enum etl_step step = ETL_STEP_END;
	uint64_t size = file->input.size_bytes;

	progress_start(&search.progress, "reading", "files", OUTPUT_AT_END);
	search.progress.passes = 1;
	search.no_memory = finding && !search.finder;
	etl_file_scan(file, &scan, &damage, 0, 0);
	while (!search.no_memory &&
	       (step = etl_scan_next(&scan, &buffer, err)) == ETL_STEP_BUFFER) {
		if (buffer.bytes) {
			etl_survey_buffer(file, &buffer, &so_far, &damage, &visitor);
		}
		progress_show(&search.progress, buffer.place.offset, size, 0, size);
	}
	etl_scan_done(&scan);
	progress_end(&search.progress);
	if (finding) {
		finding->free_finder(search.finder);
	}
	file->format.passed_over = &file->passed_over;
	if (search.no_memory) {
		return error_no_memory(err, "what the files of a recording repeat");
	}
	return step == ETL_STEP_END;
}

static uint32_t sum_losses(const struct etw_file *file, bool of_buffers)
{
	struct etl_losses losses = { 0 };
	uint64_t all;

	for (size_t i = 0; i < file->part_count; i++) {
		const struct etw_file_part *part = &file->parts[i];

		etl_losses_add(&losses, of_buffers ? part->buffers_lost : part->events_lost);
	}
	all = etl_losses_of_all(&losses);
	return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

static void merge_header(struct etw_header *header, const struct etw_header *next)
{
	if (next->buffer_size_bytes > header->buffer_size_bytes) {
		header->buffer_size_bytes = next->buffer_size_bytes;
	}
	if (next->processors > header->processors) {
		header->processors = next->processors;
	}
	/* A file that was not closed has no end time; the last file has that of the session. */
	header->end_time = next->end_time;
	header->buffers_written = next->buffers_written > UINT32_MAX - header->buffers_written ?
					  UINT32_MAX :
					  header->buffers_written + next->buffers_written;
}

/* Reads the header of each file. All must be from the same machine and boot as the first. */
static bool read_parts(struct etw_file *file, const char *const *paths, size_t count,
		       struct etw_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *path = paths[i];
		struct etw_file *next = etw_file_open(path, 0, err);
		struct etw_file_part *part = &file->parts[i];
		bool good = next != NULL;

		if (good && i > 0 && !etw_mirror_fits(file, next, err)) {
			good = error_prefix(err, "%s: does not belong to %s", path, paths[0]);
		}
		if (good) {
			part->path = text_duplicate(path, strlen(path));
			part->size_bytes = next->input.size_bytes;
			part->events_lost = next->header.events_lost;
			part->buffers_lost = next->header.buffers_lost;
			file->part_count++;
			good = part->path || error_no_memory(err, "a recording");
		}
		if (good && i > 0) {
			merge_header(&file->header, &next->header);
		}
		etw_file_close(next);
		if (!good) {
			return false;
		}
	}
	return true;
}

static bool open_files(struct etw_file *file, const char *const *paths, size_t count,
		       uint8_t pointer_size, struct etw_error *err)
{
	file->parts = calloc(count, sizeof *file->parts);
	if (!file->parts) {
		return error_no_memory(err, "a recording");
	}
	if (!etl_input_open_all(&file->input, paths, count, err)) {
		return false;
	}
	if (!etl_file_read_header(file, pointer_size, err)) {
		return error_prefix(err, "%s", paths[0]);
	}
	if (!read_parts(file, paths, count, err)) {
		return false;
	}
	file->header.events_lost = sum_losses(file, false);
	file->header.buffers_lost = sum_losses(file, true);
	return find_repeats(file, err);
}

static bool open_set(struct etw_file *file, const struct etw_file_set *set, uint8_t pointer_size,
		     struct etw_error *err)
{
	const char *paths[ETW_FILE_SET_MAX];
	struct etw_text gaps = { 0 };

	for (size_t i = 0; i < set->count; i++) {
		paths[i] = set->files[i].path;
	}
	etw_file_set_add_gaps(set, &gaps);
	file->set_doubt = gaps.data;
	return open_files(file, paths, set->count, pointer_size, err);
}

/* ---- opening ---- */

/* Opens one file. path: its path, or a pattern with * and ? that matches it. */
static bool open_single(struct etw_file *file, const char *path, uint8_t pointer_size,
			struct etw_error *err)
{
	struct etw_file_set matches;
	bool good = etw_file_set_match(&matches, path, err);

	if (good && matches.count > 1) {
		good = error_set(err, ETW_ERROR_CONFIG,
				 "%s: %zu files have such a name, %s and %s first; name one of "
				 "them",
				 path, matches.count, matches.files[0].path, matches.files[1].path);
	} else if (good) {
		path = matches.count > 0 ? matches.files[0].path : path;
		good = (etl_input_open(&file->input, path, err) &&
			etl_file_read_header(file, pointer_size, err)) ||
		       error_prefix(err, "%s", path);
	}
	etw_file_set_done(&matches);
	return good;
}

static bool open_path(struct etw_file *file, const char *path, uint8_t pointer_size,
		      struct etw_error *err)
{
	struct etw_file_set set;
	bool good;

	if (!etw_file_set_find(&set, path, err)) {
		return false;
	}
	if (set.count > 0) {
		etw_packed_keep_start(); /* each file is opened twice */
		good = open_set(file, &set, pointer_size, err);
		etw_packed_keep_end();
	} else {
		good = open_single(file, path, pointer_size, err);
	}
	etw_file_set_done(&set);
	return good;
}

struct etw_file *etw_file_open(const char *path, uint8_t pointer_size, struct etw_error *err)
{
	struct etw_file *file = calloc(1, sizeof *file);

	if (!file) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	if (!open_path(file, path, pointer_size, err)) {
		etw_file_close(file);
		return NULL;
	}
	return file;
}

struct etw_file *etl_file_open_shared(const struct os_file *from, const char *path,
				      uint8_t pointer_size, struct etw_error *err)
{
	struct etw_file *file = calloc(1, sizeof *file);

	if (!file) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	if (!etl_input_share(&file->input, from, path, err) ||
	    !etl_file_read_header(file, pointer_size, err)) {
		error_prefix(err, "%s", path);
		etw_file_close(file);
		return NULL;
	}
	return file;
}

struct etw_file *etl_file_open_all(const char *const *paths, size_t count, uint8_t pointer_size,
				   struct etw_error *err)
{
	struct etw_file *file = calloc(1, sizeof *file);

	if (!file) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	if (!open_files(file, paths, count, pointer_size, err)) {
		etw_file_close(file);
		return NULL;
	}
	return file;
}
