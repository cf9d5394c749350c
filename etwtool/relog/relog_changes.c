/* SPDX-License-Identifier: MIT */
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
#include "etwtool/relog/relog_changes.h"

#include <stdlib.h>

#include <etw/describe.h>
#include <etw/event_table.h>
#include <etw/mirror.h>
#include <etw/recording.h>

#include "etwtool/relog/event_lines.h"

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

static void learn(void *context, const struct etw_record *record)
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
					     .on_record = learn,
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

static bool keep(void *context, const struct etw_out_record *record, struct etw_error *err)
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
		if (!event_lines_each(changes->lines, files->paths[i], keep, changes, err)) {
			return false;
		}
	}
	return true;
}

/* ---- the copy ---- */

enum set_answer relog_changes_apply(struct relog_changes *changes, const struct etw_record *record,
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
