/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump: the events of a recording, one JSON object a line, in file order.
 *
 * Goes over the recording twice: what it tells about its providers often comes last. Memory does
 * not grow with the recording.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "decode/trace_schemas.h"
#include "source/etl_file.h"
#include "source/etl_index.h"
#include "source/etl_scan.h"
#include "tool/event_json.h"
#include "tool/tool.h"

enum {
	OUTPUT_SIZE = 1 << 16,
	KINDS_MOST = 1 << 20, /* events of further kinds are all shown */
};

struct dump {
	struct etl_file *file;
	struct trace_schemas *schemas;
	struct tracelogging_cache *tracelogging;
	struct etl_problems problems;
	uint64_t per_kind; /* 0: all */
	struct map shown;  /* hash of a kind -> events shown of it */
	struct text out;
	bool failed;
	atomic_bool stopping; /* what a visitor looks at; one thread only */
};

static void look(void *context, const struct event_record *record)
{
	struct dump *dump = context;

	trace_schemas_look(dump->schemas, record);
}

static bool is_wanted(struct dump *dump, const struct event_record *record)
{
	char kind[sizeof(struct guid) + 7];
	uint64_t key, *shown;

	if (dump->per_kind == 0) {
		return true;
	}
	memcpy(kind, record->provider->bytes, sizeof(struct guid));
	kind[16] = (char)record->kind;
	kind[17] = (char)record->pointer_size;
	kind[18] = (char)record->version;
	kind[19] = (char)record->opcode;
	kind[20] = (char)record->id;
	kind[21] = (char)(record->id >> 8);
	kind[22] = 0;
	key = text_hash(kind, sizeof kind, hash_seed());
	shown = dump->shown.count < KINDS_MOST ? map_put(&dump->shown, key, NULL) :
						 map_find(&dump->shown, key);
	if (!shown) {
		return true;
	}
	return ++*shown <= dump->per_kind;
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

	if (!is_wanted(dump, record)) {
		return;
	}
	if (tracelogging_cache_full(dump->tracelogging)) {
		tracelogging_cache_clear(dump->tracelogging); /* no line needs another's schema */
	}
	event_json_add(&dump->out, record, dump->schemas, dump->tracelogging);
	if (dump->out.size >= OUTPUT_SIZE || dump->out.failed) {
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

static int dump_recording(const char *path, uint64_t per_kind, uint8_t pointer_size)
{
	struct dump dump = { .per_kind = per_kind };
	struct error err = { 0 };
	int status = TOOL_FAILED;

	atomic_init(&dump.stopping, false);
	dump.file = etl_file_open(path, pointer_size, &err);
	dump.schemas = dump.file ? trace_schemas_new(&err) : NULL;
	dump.tracelogging = dump.schemas ? tracelogging_cache_new(&err) : NULL;
	if (dump.tracelogging && pass(&dump, look, &dump.problems, &err)) {
		trace_schemas_finish(dump.schemas);
		if (pass(&dump, show, NULL, &err)) {
			flush(&dump);
			status = dump.failed ? TOOL_FAILED : TOOL_DONE;
		}
	}
	if (err.code != ERROR_NONE) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
	}
	for (size_t i = 0; i < dump.problems.count; i++) {
		tool_complain(TOOL_DONE, "dump", "warning: %s", dump.problems.sentences[i]);
	}
	text_free(&dump.out);
	map_done(&dump.shown);
	etl_problems_done(&dump.problems);
	tracelogging_cache_free(dump.tracelogging);
	trace_schemas_free(dump.schemas);
	etl_file_close(dump.file);
	return status;
}

enum { DUMP_PER_KIND, DUMP_POINTER_SIZE };

static const struct tool_flag flags[] = {
	[DUMP_PER_KIND] = { "--per-kind", "N", "only the first N events of each kind" },
	[DUMP_POINTER_SIZE] = TOOL_POINTER_SIZE_FLAG,
	{ NULL, NULL, NULL },
};

static int run(struct tool_arguments *arguments)
{
	const char *path = NULL;
	const char *value;
	uint64_t per_kind = 0;
	uint8_t pointer_size = 0;
	int flag;

	while ((flag = tool_next(arguments, &value)) != TOOL_END) {
		switch (flag) {
		case DUMP_PER_KIND:
			if (!parse_u64(value, strlen(value), &per_kind) || per_kind == 0) {
				return tool_complain(
					TOOL_BAD_USAGE, "dump",
					"--per-kind: wants a number above 0, not \"%s\"", value);
			}
			break;
		case DUMP_POINTER_SIZE:
			if (!tool_pointer_size("dump", value, &pointer_size)) {
				return TOOL_BAD_USAGE;
			}
			break;
		case TOOL_WORD:
			if (!tool_take_file(arguments, value, &path)) {
				return arguments->status;
			}
			break;
		default:
			return arguments->status;
		}
	}
	if (!path) {
		return tool_complain(TOOL_BAD_USAGE, "dump", "which recording?");
	}
	return dump_recording(path, per_kind, pointer_size);
}

const struct tool_command tool_dump = {
	.name = "dump",
	.synopsis = "FILE [OPTIONS]",
	.about = "The events of a recording, one JSON object a line, in file order",
	.flags = flags,
	.run = run,
};
