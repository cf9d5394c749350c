/* SPDX-License-Identifier: MIT */
#include "etwtool/relog/relog_inputs.h"

#include <etw/mirror.h>

/* ---- paths ---- */

static bool add_path(struct relog_inputs *inputs, const char *path, struct etw_error *err)
{
	if (inputs->path_count == ETW_FILE_SET_MAX) {
		return error_set(err, ETW_ERROR_LIMIT, "more than %d recordings",
				 (int)ETW_FILE_SET_MAX);
	}
	inputs->paths[inputs->path_count++] = path;
	return true;
}

/*
 * Finds the files of a set, or those that a pattern matches. Both are merged as other recordings
 * are.
 */
static bool find_files(struct etw_file_set *set, const char *word, struct etw_error *err)
{
	struct etw_text gaps = { 0 };
	bool good = etw_file_set_find(set, word, err);

	etw_file_set_add_gaps(set, &gaps);
	if (good && gaps.data) {
		tool_complain(TOOL_DONE, "relog", "warning: %s: %s", word, gaps.data);
	}
	text_free(&gaps);
	return good && (set->count > 0 || etw_file_set_match(set, word, err));
}

bool relog_inputs_find(struct relog_inputs *inputs, const struct tool_arguments *arguments,
		       struct etw_error *err)
{
	for (size_t i = 0; i < arguments->word_count; i++) {
		struct etw_file_set *set = &inputs->sets[i];
		bool good = find_files(set, arguments->words[i], err);

		if (good && set->count == 0) {
			good = add_path(inputs, arguments->words[i], err);
		}
		for (size_t j = 0; good && j < set->count; j++) {
			good = add_path(inputs, set->files[j].path, err);
		}
		if (!good) {
			return false;
		}
	}
	return true;
}

/* ---- files ---- */

/* Pipes and files that do not exist have a stamp of zeros, and never match. */
static bool is_same_file(const struct os_file_stamp *a, const struct os_file_stamp *b)
{
	return (a->number != 0 || a->volume != 0) && a->number == b->number &&
	       a->volume == b->volume;
}

bool relog_inputs_spare(const struct relog_inputs *inputs, const char *path, struct etw_error *err)
{
	struct os_file_stamp written;

	os_file_stamp(path, &written);
	for (size_t i = 0; i < inputs->path_count; i++) {
		if (is_same_file(&written, &inputs->stamps[i])) {
			return error_set(err, ETW_ERROR_CONFIG, "%s is also an input", path);
		}
	}
	return true;
}

/* Fails if an input is given twice, because its events would count twice. */
static bool check_stamps(const struct relog_inputs *inputs, size_t input, struct etw_error *err)
{
	const struct os_file_stamp *stamp = &inputs->stamps[input];

	for (size_t i = 0; i < input; i++) {
		if (is_same_file(&inputs->stamps[i], stamp)) {
			return error_set(err, ETW_ERROR_CONFIG, "%s and %s are the same file",
					 inputs->paths[i], inputs->paths[input]);
		}
	}
	return true;
}

bool relog_inputs_open(struct relog_inputs *inputs, uint8_t pointer_size, const char *output,
		       struct etw_error *err)
{
	for (size_t i = 0; i < inputs->path_count; i++) {
		const char *path = inputs->paths[i];
		struct etw_file *file = etw_file_open(path, pointer_size, err);

		if (!file) {
			return false;
		}
		inputs->files[inputs->count++] = file;
		inputs->size_bytes += etw_file_size_bytes(file);
		os_file_stamp(path, &inputs->stamps[i]);
		if (!relog_inputs_spare(inputs, output, err) || !check_stamps(inputs, i, err)) {
			return false;
		}
		if (!etw_mirror_fits(inputs->files[0], file, err)) {
			return error_prefix(err, "%s cannot be merged with %s", path,
					    inputs->paths[0]);
		}
	}
	return true;
}

int64_t relog_inputs_start(const struct relog_inputs *inputs)
{
	int64_t start = etw_file_header(inputs->files[0])->start_time;

	for (size_t i = 1; i < inputs->count; i++) {
		int64_t other = etw_file_header(inputs->files[i])->start_time;

		start = other < start ? other : start;
	}
	return start;
}

void relog_inputs_close(struct relog_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++) {
		etw_file_close(inputs->files[i]);
	}
	inputs->count = 0;
	inputs->size_bytes = 0;
}

void relog_inputs_done(struct relog_inputs *inputs)
{
	relog_inputs_close(inputs);
	for (size_t i = 0; i < TOOL_WORDS_MOST; i++) {
		etw_file_set_done(&inputs->sets[i]);
	}
	inputs->path_count = 0;
}
