/* SPDX-License-Identifier: MIT */
/*
 * What the formats of etwtool dump share: a run of the whole pipeline in time order, which applies
 * the filter of the command line and the limit of --per-kind, and calls the format for each record
 * that is left. The csv format runs it twice, because the first line of its output needs all
 * columns; jsonl runs it first if there is a filter, to learn which records to show.
 *
 * The filter learns during the run which names the recording has. A requested name that did not
 * occur is therefore reported at the end, with the nearest name that did.
 */
#include <string.h>

#include "etwtool/dump/dump.h"
#include "etwtool/tool.h"

enum { CLASSES_MOST = 1 << 20 }; /* events of further classes have no limit */

bool dump_limit_allows(struct dump_limit *limit, const struct etw_record *record)
{
	char class[sizeof(struct etw_guid) + 7];
	uint64_t key, *shown;

	if (limit->per_class == 0) {
		return true;
	}
	memcpy(class, record->provider->bytes, sizeof(struct etw_guid));
	class[16] = (char)record->type;
	class[17] = (char)record->pointer_size;
	class[18] = (char)record->version;
	class[19] = (char)record->opcode;
	class[20] = (char)record->id;
	class[21] = (char)(record->id >> 8);
	class[22] = 0;
	key = text_hash(class, sizeof class, hash_seed());
	shown = limit->shown.count < CLASSES_MOST ? map_put(&limit->shown, key, NULL) :
						    map_find(&limit->shown, key);
	if (!shown) {
		return true;
	}
	return ++*shown <= limit->per_class;
}

bool dump_flush(struct etw_text *out)
{
	bool written = true;

	if (out->size >= DUMP_OUTPUT_SIZE || out->failed) {
		written = tool_write("dump", out);
		text_clear(out);
	}
	return written;
}

static void on_class(void *context, const struct etw_event_class *class)
{
	struct dump_pass *pass = context;

	event_filter_class(&pass->request->filter, class);
	map_remove(&pass->derived, (uintptr_t) class);
	if (pass->on_class) {
		pass->on_class(pass->context, class);
	}
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct dump_pass *pass = context;

	if (pass->stopped ||
	    !event_filter_keeps(&pass->request->filter, recording, record, class) ||
	    !dump_limit_allows(&pass->limit, record)) {
		return;
	}
	pass->process = recording_process(recording, &pass->process_id);
	if (!pass->show(pass, record, class) || !dump_flush(&pass->out)) {
		pass->stopped = true;
		recording_stop(recording);
	}
}

/* Returns whether a condition of the command line uses the field. */
static bool is_in_condition(const struct event_filter *filter, const struct derived_field *row)
{
	const char *name;

	for (size_t i = 0; filter->probe && (name = probe_field(filter->probe, i)) != NULL; i++) {
		if (strcmp(name, row->name) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * Returns the set of numbers of a class's derived fields, which is computed when the class is first
 * shown.
 */
static uint64_t derived_of(struct dump_pass *pass, const struct etw_event_class *class)
{
	uint64_t *known = map_put(&pass->derived, (uintptr_t) class, NULL);
	const struct derived_field *row;
	uint64_t set = 0;

	if (known && *known != 0) {
		return *known;
	}
	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		bool shown = !row->of_record &&
			     (derived_applies(row, class) ||
			      (!row->origin && is_in_condition(&pass->request->filter, row)));

		set |= shown ? UINT64_C(1) << i : 0;
	}
	if (known) {
		*known = set;
	}
	return set;
}

const struct derived_field *dump_derived_next(struct dump_pass *pass,
					      const struct etw_event_class *class, unsigned *number)
{
	uint64_t left = *number < DERIVED_MOST ? derived_of(pass, class) >> *number : 0;

	while (left != 0 && (left & 1) == 0) {
		left >>= 1;
		++*number;
	}
	return left != 0 ? derived_at((*number)++) : NULL;
}

bool dump_pass_run(struct dump_pass *pass)
{
	struct tool_arguments *arguments = &pass->request->arguments;
	struct event_filter *filter = &pass->request->filter;
	const struct recording_options options = {
		.probe = filter->probe,
		.derived = pass->request->format != DUMP_JSONL,
		.context = pass,
		.on_class = on_class,
		.on_record = on_record,
	};
	struct etw_error err = { 0 };

	if (!pass->recording) {
		pass->recording = recording_open(arguments, arguments->words[0], &options, &err);
	}
	map_done(&pass->limit.shown);
	map_done(&pass->derived);
	if (!pass->recording || !recording_run(pass->recording, &err)) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
		return false;
	}
	return !pass->stopped &&
	       event_filter_found(filter, recording_times(pass->recording), "dump");
}

bool dump_pass_stack(struct dump_pass *pass, const struct etw_record *record, size_t *count)
{
	const struct dump_request *request = pass->request;
	struct etw_error err = { 0 };

	*count = 0;
	if (!pass->stacks) {
		if (!request->stacks && !dump_stacks_in(record)) {
			return true;
		}
		pass->stacks = dump_stacks_new(request->stacks, &err);
		if (!pass->stacks || !dump_stacks_read(pass->stacks, request->arguments.words[0],
						       request->arguments.pointer_size, &err)) {
			tool_complain(TOOL_FAILED, "dump", "%s", err.text);
			return false;
		}
		dump_stacks_warn(pass->stacks);
	}
	if (!dump_stacks_of(pass->stacks, record, count)) {
		tool_complain(TOOL_FAILED, "dump", "no memory for the stack of an event");
		return false;
	}
	return true;
}

void dump_pass_done(struct dump_pass *pass)
{
	dump_stacks_free(pass->stacks);

	recording_close(pass->recording);
	map_done(&pass->limit.shown);
	map_done(&pass->derived);
	text_free(&pass->value);
	text_free(&pass->out);
}
