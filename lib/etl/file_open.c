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
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>
#include <etw/recording.h>

#include "base/progress.h"
#include "base/text.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/packed.h"

static const struct etw_repeat_finder *finding; /* NULL: repeated records are not searched for */

void etw_file_find_repeats(const struct etw_repeat_finder *finder)
{
	finding = finder;
}

/* A pass over all files. */
struct search {
	struct etw_file *file;
	void *finder; /* NULL: no finder is set */
	struct progress progress;
	bool no_memory;
};

static void look_at_record(void *context, const struct etw_record *record)
{
	struct search *search = context;
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
	struct search search = { .file = file, .finder = finding ? finding->new_finder() : NULL };
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

struct etw_file *etw_file_open_all(const char *const *paths, size_t count, uint8_t pointer_size,
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
