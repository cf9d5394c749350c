/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump --format jsonl: one JSON object a line, in file order.
 *
 * Goes over the recording twice: what it tells about its providers often comes last. A filter wants
 * a pass more, in time order, because only that tells whom an event belongs to; it leaves a bit for
 * each record, and nothing else grows with the recording.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "decode/trace_schemas.h"
#include "etl/file.h"
#include "etl/index.h"
#include "etl/scan.h"
#include "tool/dump.h"
#include "tool/event_json.h"
#include "tool/progress.h"
#include "tool/tool.h"

/* ---- what a filter keeps ---- */

/* A bit for each record, by its index in the file. */
struct chosen {
	uint8_t *bits; /* owned */
	size_t size;   /* bytes */
};

static bool is_chosen(const struct chosen *chosen, uint64_t index)
{
	return index / 8 < chosen->size && (chosen->bits[index / 8] >> index % 8 & 1) != 0;
}

static bool mark(void *context, const struct event_record *record, const struct event_class *class,
		 const char *process, uint32_t process_id)
{
	struct chosen *chosen = context;
	uint64_t at = record->index / 8;

	(void)class;
	(void)process;
	(void)process_id;
	if (at >= chosen->size) {
		size_t size = (size_t)at * 2 + 4096;
		uint8_t *bits = realloc(chosen->bits, size);

		if (!bits) {
			tool_complain(TOOL_FAILED, "dump", "no memory for the records to show");
			return false;
		}
		memset(bits + chosen->size, 0, size - chosen->size);
		chosen->bits = bits;
		chosen->size = size;
	}
	chosen->bits[at] |= (uint8_t)(1U << record->index % 8);
	return true;
}

static bool choose(const struct dump_options *options, struct chosen *chosen)
{
	struct dump_pass pass = { .options = options, .context = chosen, .show = mark };
	bool done = dump_pass_run(&pass);

	dump_pass_done(&pass);
	return done;
}

/* ---- the records ---- */

struct dump {
	struct etl_file *file;
	struct trace_schemas *schemas;
	struct schema_origins origins;
	struct tracelogging_cache *tracelogging;
	struct etl_problems problems;
	const struct chosen *chosen; /* NULL: all */
	struct dump_limit limit;
	struct progress progress;
	double passed; /* share of the run that earlier passes were */
	struct text out;
	bool failed;
	atomic_bool stopping; /* what a visitor looks at; one thread only */
};

static void look(void *context, const struct event_record *record)
{
	struct dump *dump = context;

	trace_schemas_look(dump->schemas, record);
}

static void flush(struct dump *dump)
{
	if (!dump->failed && !tool_write("dump", &dump->out)) {
		dump->failed = true;
		atomic_store_explicit(&dump->stopping, true, memory_order_relaxed);
	}
	text_clear(&dump->out);
}

static void show(void *context, const struct event_record *record)
{
	struct dump *dump = context;

	if ((dump->chosen && !is_chosen(dump->chosen, record->index)) ||
	    !dump_limit_allows(&dump->limit, record)) {
		return;
	}
	if (tracelogging_cache_full(dump->tracelogging)) {
		tracelogging_cache_clear(dump->tracelogging); /* no line needs another's schema */
	}
	event_json_add(&dump->out, record, &dump->origins, dump->tracelogging);
	if (dump->out.size >= DUMP_OUTPUT_SIZE || dump->out.failed) {
		flush(dump);
	}
}

/* Shows every record to visit, in file order. */
static bool pass(struct dump *dump, void (*visit)(void *context, const struct event_record *record),
		 struct etl_problems *problems, struct error *err)
{
	struct etl_damage damage = { .problems = problems };
	struct etl_visitor visitor = { .record_context = dump,
				       .on_record = visit,
				       .stopping = &dump->stopping };
	struct etl_file *file = dump->file;
	struct etl_scan scan;
	struct etl_buffer buffer;
	enum etl_step step = ETL_STEP_END;
	uint64_t records = 0, buffers = 0;

	etl_scan_start(&scan, &file->input, &file->blocks, &damage, file->header.mode, 0, 0);
	while (!dump->failed && (step = etl_scan_next(&scan, &buffer, err)) == ETL_STEP_BUFFER) {
		buffers++;
		progress_show(&dump->progress,
			      dump->passed + (double)buffer.place.offset /
						     (double)file->input.size_bytes / 2);
		if (buffer.bytes) {
			records += etl_survey_buffer(file, &buffer, records, &damage, &visitor)
					   .records;
		}
	}
	etl_scan_done(&scan);
	if (step == ETL_STEP_END && !dump->failed) {
		etl_check_count(file, buffers, &damage);
	}
	return step != ETL_STEP_FAILED;
}

static int dump_recording(const struct dump_options *options, const struct chosen *chosen)
{
	struct dump dump = { .chosen = chosen, .limit.per_class = options->per_class };
	struct error err = { 0 };
	int status = TOOL_FAILED;

	atomic_init(&dump.stopping, false);
	progress_start(&dump.progress, "dump");
	dump.file = etl_file_open(options->path, options->pointer_size, &err);
	dump.schemas = dump.file ? trace_schemas_new(&err) : NULL;
	dump.origins = (struct schema_origins){ .trace = dump.schemas,
						.configured = options->manifests->configured,
						.builtin = options->manifests->builtin };
	dump.tracelogging = dump.schemas ? tracelogging_cache_new(&err) : NULL;
	if (dump.tracelogging && pass(&dump, look, &dump.problems, &err)) {
		trace_schemas_finish(dump.schemas);
		dump.passed = 0.5;
		if (pass(&dump, show, NULL, &err)) {
			flush(&dump);
			status = dump.failed ? TOOL_FAILED : TOOL_DONE;
		}
	}
	progress_end(&dump.progress);
	if (err.code != ERROR_NONE) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
	}
	for (size_t i = 0; i < dump.problems.count; i++) {
		tool_complain(TOOL_DONE, "dump", "warning: %s", dump.problems.sentences[i]);
	}
	text_free(&dump.out);
	map_done(&dump.limit.shown);
	etl_problems_done(&dump.problems);
	tracelogging_cache_free(dump.tracelogging);
	trace_schemas_free(dump.schemas);
	etl_file_close(dump.file);
	return status;
}

int dump_jsonl(const struct dump_options *options)
{
	struct chosen chosen = { .bits = NULL };
	int status;

	if (!event_filter_active(options->filter)) {
		return dump_recording(options, NULL);
	}
	status = choose(options, &chosen) ? dump_recording(options, &chosen) : TOOL_FAILED;
	free(chosen.bits);
	return status;
}
