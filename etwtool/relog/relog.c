/* SPDX-License-Identifier: MIT */
#include <etw/describe.h>
#include <etw/event_table.h>
#include <etw/kernel.h>
#include <etw/mirror.h>
#include <etw/stack_walk.h>

#include "etwtool/relog/relog.h"

#include <stdlib.h>

/* ---- changes ---- */

/*
 * Changes and adds records.
 *
 * A copy in file order only moves bytes and does not resolve events. Here each record gets its
 * event class as in a pipeline, from the layouts that a pass over all inputs has collected, so that
 * an assignment names events and fields as rules and dumps do. When several recordings are merged,
 * the layouts of all of them decode each record, as they will decode the result.
 *
 * The records of files are made before the copy begins, because an error in a line should not
 * appear after minutes. Their bytes are kept in memory. Lines may have any order: the records are
 * sorted by time, and records with the same time keep the order of their lines. They get their own
 * buffers after all others; a reader puts them in their place, because it orders all buffers by
 * time.
 */

enum {
	CLASSES_MOST = 32768, /* the same bound as in a pipeline */
};

struct relog_changes {
	struct relog_changes_options options;
	struct etw_trace_schemas *trace;
	struct etw_schema_origins origins;
	struct etw_event_table *classes;
	struct event_lines *lines;
	struct etw_error failure; /* error of the pass; code ETW_ERROR_NONE: none */
	struct etw_added_records added;
};

bool added_files_read(void *files, const char *path, struct etw_error *err)
{
	struct added_files *added = files;

	if (added->count == ADDED_FILES_MOST) {
		return error_set(err, ETW_ERROR_CONFIG, "--add: more than %d files",
				 ADDED_FILES_MOST);
	}
	added->paths[added->count++] = path;
	return true;
}

struct relog_changes *relog_changes_new(const struct relog_changes_options *options,
					struct etw_error *err)
{
	struct relog_changes *changes = calloc(1, sizeof *changes);

	if (!changes) {
		error_no_memory(err, "changes of events");
		return NULL;
	}
	changes->options = *options;
	changes->trace = etw_trace_schemas_new(err);
	changes->origins = (struct etw_schema_origins){
		.trace = changes->trace,
		.configured = options->manifests->configured,
		.builtin = options->manifests->builtin,
		.builtin_names = true,
	};
	changes->classes =
		changes->trace ? etw_event_table_new(CLASSES_MOST, &changes->origins, err) : NULL;
	if (changes->classes && options->added->count > 0) {
		const struct event_lines_options lines = {
			.origins = &changes->origins,
			.clock = etw_file_clock(options->inputs[0]),
			.pointer_size = etw_file_pointer_size(options->inputs[0]),
		};

		changes->lines = event_lines_new(&lines, err);
	}
	if (!changes->classes || (options->added->count > 0 && !changes->lines)) {
		relog_changes_free(changes);
		return NULL;
	}
	return changes;
}

void relog_changes_free(struct relog_changes *changes)
{
	if (!changes) {
		return;
	}
	event_lines_free(changes->lines);
	etw_event_table_free(changes->classes);
	etw_trace_schemas_free(changes->trace);
	etw_added_records_done(&changes->added);
	free(changes);
}

/* ---- the pass over the inputs ---- */

static void learn_record(void *context, const struct etw_record *record)
{
	struct relog_changes *changes = context;

	etw_trace_schemas_look(changes->trace, record);
	if (changes->lines && changes->failure.code == ETW_ERROR_NONE) {
		event_lines_learn(changes->lines, record, &changes->failure);
	}
}

bool relog_changes_learn(struct relog_changes *changes, struct etw_file *input,
			 void (*on_buffer)(void *context, uint64_t bytes_read), void *context,
			 struct etw_error *err)
{
	const struct etw_visitor visitor = { .record_context = changes,
					     .on_record = learn_record,
					     .buffer_context = context,
					     .on_buffer = on_buffer };
	struct etw_damage damage = { 0 }; /* the copy reports it */

	if (!etw_file_visit(input, &damage, &visitor, err)) {
		return false;
	}
	return changes->failure.code == ETW_ERROR_NONE ||
	       error_set(err, changes->failure.code, "%s", changes->failure.text);
}

/* ---- records of files ---- */

/*
 * Returns how many processors the machine has according to the header. A reader takes records of
 * other processors for damage.
 */
static uint32_t processors_of(const struct relog_changes *changes)
{
	uint32_t most = 1;

	for (size_t i = 0; i < changes->options.input_count; i++) {
		uint32_t processors = etw_file_header(changes->options.inputs[i])->processors;

		most = processors > most ? processors : most;
	}
	return most;
}

static bool add_record(void *context, const struct etw_out_record *record, struct etw_error *err)
{
	struct relog_changes *changes = context;

	return etw_added_records_keep(&changes->added, record,
				      etw_file_pointer_size(changes->options.inputs[0]),
				      processors_of(changes), err);
}

bool relog_changes_ready(struct relog_changes *changes, struct etw_error *err)
{
	const struct added_files *files = changes->options.added;

	etw_trace_schemas_finish(changes->trace);
	for (size_t i = 0; i < files->count; i++) {
		if (!event_lines_each(changes->lines, files->paths[i], add_record, changes, err)) {
			return false;
		}
	}
	return true;
}

/* ---- the copy ---- */

/*
 * Applies the assignments to a record. *bytes is the whole record, and then the one that replaces
 * it, which is valid until the next call.
 */
static enum set_answer apply_assignments(struct relog_changes *changes,
					 const struct etw_record *record,
					 struct etw_mirror_bytes *bytes, struct etw_error *err)
{
	struct set_fields *set = changes->options.set;
	const struct etw_event_class *class;
	bool added;

	class = etw_event_table_find(changes->classes, record, &added);
	if (!class) {
		error_no_memory(err, "an event class");
		return SET_FAILED;
	}
	if (added) {
		set_fields_class(set, class);
	}
	return set_fields_apply(set, record, class, &bytes->at, &bytes->size, err);
}

size_t relog_changes_add(struct relog_changes *changes, struct etw_writer *writer)
{
	etw_added_records_write(&changes->added, writer);
	return changes->added.count;
}

enum {
	/* Items with stacks and keys of stacks, docs/etl-format.md section 9. */
	STACK_ITEMS = 1 << ETW_EXTENDED_STACK32 | 1 << ETW_EXTENDED_STACK64 | 1 << 17 | 1 << 18,
};

bool relog_decision_needed(const struct relog_decision *decision)
{
	return decision->filtered || decision->drop_stacks || decision->merging ||
	       decision->changes;
}

/* Applies the assignments. *moved becomes the record with its new payload and the same items. */
static enum etw_mirror_action change_record(struct relog_decision *decision,
					    const struct etw_record *record,
					    struct etw_mirror_bytes *bytes,
					    struct etw_record *moved)
{
	const struct etw_mirror_bytes before = *bytes;

	switch (apply_assignments(decision->changes, record, bytes, &decision->failure)) {
	case SET_FAILED:
		return ETW_MIRROR_STOP;
	case SET_SAME:
		return ETW_MIRROR_KEEP;
	case SET_CHANGED:
		break;
	}
	decision->changed++;
	if (etw_payload_is_whole(record, before.at, before.size)) {
		size_t header = before.size - record->payload_size;

		moved->payload = bytes->at + header;
		moved->payload_size = (uint32_t)(bytes->size - header);
	}
	return ETW_MIRROR_REPLACE;
}

enum etw_mirror_action relog_decide(void *context, const struct etw_record *record,
				    struct etw_mirror_bytes *bytes)
{
	struct relog_decision *decision = context;
	bool stack = etw_is_stack_walk(record);
	bool describes = (decision->describe || decision->merging) &&
			 is_describing(&decision->describing, record);
	bool chosen = !decision->choosing ||
		      chosen_has(&decision->chosen, decision->before + record->index);
	enum etw_mirror_action action = ETW_MIRROR_KEEP;
	struct etw_record moved = *record;
	size_t size;

	decision->seen = record->index + 1;
	if (decision->drop_stacks && stack) {
		return ETW_MIRROR_DROP;
	}
	if (decision->merging && (describes || stack) &&
	    repeats_add(stack ? &decision->stacks : &decision->repeats, record)) {
		return ETW_MIRROR_DROP;
	}
	if (decision->filtered && !chosen && !(decision->describe && describes)) {
		return ETW_MIRROR_DROP;
	}
	if (decision->changes && chosen) {
		action = change_record(decision, record, bytes, &moved);
	}
	if (action != ETW_MIRROR_STOP && decision->drop_stacks && record->extended) {
		size = etw_strip_items(&moved, bytes->at, bytes->size, STACK_ITEMS,
				       decision->record);
		if (size > 0) {
			*bytes = (struct etw_mirror_bytes){ decision->record, size };
			return ETW_MIRROR_REPLACE;
		}
	}
	return action;
}

void relog_next_input(struct relog_decision *decision)
{
	/*
	 * An input counts at least one record, because relog_decide() does not get the logfile
	 * header of a later input.
	 */
	decision->before += decision->seen > 0 ? decision->seen : 1;
	decision->seen = 0;
	describing_done(&decision->describing);
	repeats_next_file(&decision->repeats);
	repeats_next_file(&decision->stacks);
}

void relog_decision_done(struct relog_decision *decision)
{
	chosen_done(&decision->chosen);
	describing_done(&decision->describing);
	repeats_done(&decision->repeats);
	repeats_done(&decision->stacks);
}

/* ---- paths of inputs ---- */

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
			return error_set(err, ETW_ERROR_CONFIG,
					 "%s is also an input: name another file with -o", path);
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
