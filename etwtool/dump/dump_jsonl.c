/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump --format jsonl: writes one JSON object per line, in file order.
 *
 * The recording is read twice, because it often describes its providers only at the end. A filter
 * needs another pass before these, in time order, because only that finds the process of an event.
 * That pass notes one bit for each record, and nothing else here grows with the recording.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <etw/describe.h>
#include <etw/event_json.h>
#include <etw/kernel.h>
#include <etw/recording.h>
#include <etw/schema.h>

#include "base/array.h"
#include "etwtool/dump/dump.h"
#include "etwtool/tool.h"

struct stack_of {
	const struct etw_record *record;
	struct dump_stacks *stacks;
};

static void add_stack(void *context, struct json *json)
{
	const struct stack_of *of = context;
	struct dump_stacks *stacks = of->stacks;
	struct etw_text address = { 0 };
	size_t count;

	json->out->failed |= !dump_stacks_of(stacks, of->record, &count);
	if (count == 0) {
		return;
	}
	json_member_array(json, DUMP_STACK);
	for (size_t i = 0; i < count; i++) {
		text_clear(&address);
		dump_stacks_add(stacks, i, &address);
		json_text(json, address.data ? address.data : "", address.size);
		json->out->failed |= address.failed;
	}
	json_array_end(json);
	text_free(&address);
}

void dump_add_line(struct etw_text *out, const struct etw_record *record,
		   const struct etw_schema_origins *origins,
		   struct etw_tracelogging_cache *tracelogging, struct dump_stacks *stacks)
{
	const struct etw_schema *schema = etw_event_schema(origins, tracelogging, record, NULL);
	const struct etw_schema *naming = etw_event_schema_naming(origins, record, schema);
	struct stack_of of = { record, stacks };

	/* Programs compare lines literally, so lines have stacks only if these are requested. */
	etw_event_json_add(out, record, etw_event_provider_name(origins, record->provider),
			   naming ? naming->event : NULL, schema, stacks ? add_stack : NULL, &of);
	text_add_char(out, '\n');
}

/* ---- what a filter keeps ---- */

struct filter_marks {
	struct chosen chosen;
	bool hidden; /* built-in manifests, which lines do not use, describe one of the events */
};

static bool mark_record(struct dump_pass *pass, const struct etw_record *record,
			const struct etw_event_class *class)
{
	const struct tool_arguments *arguments = &pass->request->arguments;
	struct filter_marks *marks = pass->context;

	if (!marks->hidden && !arguments->builtin && class->schema && !class->classic) {
		marks->hidden = class->schema ==
				etw_manifest_set_schema(arguments->manifests.builtin,
							&class->provider, class->id, class->version,
							class->opcode, false);
	}
	if (!chosen_add(&marks->chosen, record->index)) {
		tool_complain(TOOL_FAILED, "dump", "no memory for the records to show");
		return false;
	}
	return true;
}

/* ---- the passes ---- */

struct jsonl_dump {
	struct etw_file *file;
	struct etw_trace_schemas *schemas;
	struct etw_schema_origins origins;
	struct etw_tracelogging_cache *tracelogging;
	struct dump_stacks *stacks; /* NULL: lines have no stacks */
	struct etw_problems problems;
	const struct chosen *chosen; /* NULL: all */
	struct dump_limit limit;
	struct progress progress;
	struct etw_text out;
	bool failed;
	atomic_bool stopping; /* type that a visitor needs; one thread uses it */
};

static void learn_record(void *context, const struct etw_record *record)
{
	struct jsonl_dump *dump = context;

	etw_trace_schemas_look(dump->schemas, record);
	if (dump->stacks) {
		dump_stacks_learn(dump->stacks, record);
	}
}

static bool add_line(struct jsonl_dump *dump, const struct etw_record *record)
{
	if (etw_tracelogging_cache_full(dump->tracelogging)) {
		etw_tracelogging_cache_clear(
			dump->tracelogging); /* no line needs the schema of another */
	}
	dump_add_line(&dump->out, record, &dump->origins, dump->tracelogging, dump->stacks);
	return dump_flush(&dump->out);
}

static void show_record(void *context, const struct etw_record *record)
{
	struct jsonl_dump *dump = context;

	if ((dump->chosen && !chosen_has(dump->chosen, record->index)) ||
	    !dump_limit_allows(&dump->limit, record)) {
		return;
	}
	if (!add_line(dump, record)) {
		dump->failed = true;
		atomic_store_explicit(&dump->stopping, true, memory_order_relaxed);
	}
}

static void show_progress(void *context, uint64_t offset, const struct etw_buffer_header *header)
{
	struct jsonl_dump *dump = context;
	uint64_t size_bytes = etw_file_size_bytes(dump->file);

	(void)header;
	progress_show(&dump->progress, offset, size_bytes, 0, size_bytes);
}

/* Calls visit for every record, in file order. */
static bool visit_records(struct jsonl_dump *dump,
			  void (*visit)(void *context, const struct etw_record *record),
			  struct etw_problems *problems, struct etw_error *err)
{
	struct etw_damage damage = { .problems = problems };
	struct etw_visitor visitor = { .record_context = dump,
				       .on_record = visit,
				       .buffer_context = dump,
				       .on_buffer_header = show_progress,
				       .stopping = &dump->stopping };

	return etw_file_visit(dump->file, &damage, &visitor, err);
}

static int dump_recording(const struct dump_request *request, const struct chosen *chosen)
{
	struct jsonl_dump dump = { .chosen = chosen, .limit.per_class = request->per_class };
	const struct tool_arguments *arguments = &request->arguments;
	struct etw_error err = { 0 };
	int status = TOOL_FAILED;

	atomic_init(&dump.stopping, false);
	progress_start(&dump.progress, "etwtool", "dump", tool_dump.output);
	dump.file = etw_file_open(arguments->words[0], arguments->pointer_size, &err);
	dump.schemas = dump.file ? etw_trace_schemas_new(&err) : NULL;
	dump.origins = (struct etw_schema_origins){
		.trace = dump.schemas,
		.configured = arguments->manifests.configured,
		.builtin = arguments->builtin ? arguments->manifests.builtin : NULL
	};
	dump.tracelogging = dump.schemas ? etw_tracelogging_cache_new(&err) : NULL;
	dump.stacks = request->stacks && dump.tracelogging ? dump_stacks_new(true, &err) : NULL;
	if (dump.tracelogging && (dump.stacks || !request->stacks) &&
	    visit_records(&dump, learn_record, &dump.problems, &err)) {
		etw_trace_schemas_finish(dump.schemas);
		if ((!dump.stacks || dump_stacks_finish(dump.stacks, &err)) &&
		    visit_records(&dump, show_record, NULL, &err) && !dump.failed &&
		    tool_write("dump", &dump.out)) {
			status = TOOL_DONE;
		}
	}
	progress_end(&dump.progress);
	if (err.code != ETW_ERROR_NONE) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
	}
	for (size_t i = 0; i < dump.problems.count; i++) {
		tool_complain(TOOL_DONE, "dump", "warning: %s", dump.problems.sentences[i]);
	}
	if (dump.problems.dropped > 0) {
		tool_complain(TOOL_DONE, "dump", "warning: and %" PRIu64 " more like these",
			      dump.problems.dropped);
	}
	if (dump.stacks) {
		dump_stacks_warn(dump.stacks);
	}
	dump_stacks_free(dump.stacks);
	text_free(&dump.out);
	map_done(&dump.limit.shown);
	etw_problems_done(&dump.problems);
	etw_tracelogging_cache_free(dump.tracelogging);
	etw_trace_schemas_free(dump.schemas);
	etw_file_close(dump.file);
	return status;
}

int dump_jsonl(struct dump_request *request)
{
	struct filter_marks marks = { .hidden = false };
	struct dump_pass pass = { .request = request, .context = &marks, .show = mark_record };
	int status = TOOL_FAILED;
	bool chosen_all;

	if (!event_filter_active(&request->filter)) {
		return dump_recording(request, NULL);
	}
	chosen_all = dump_pass_run(&pass);
	dump_pass_done(&pass);
	if (chosen_all) {
		status = dump_recording(request, &marks.chosen);
	}
	if (status == TOOL_DONE && marks.hidden) {
		tool_complain(TOOL_DONE, "dump",
			      "the built-in manifests know fields of these events: --builtin shows "
			      "them");
	}
	chosen_done(&marks.chosen);
	return status;
}
