/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump --format jsonl: one JSON object a line, in file order.
 *
 * The recording is read twice, because what it says about its providers often comes last. A filter
 * needs one more pass in time order before these, because only that shows to which process an event
 * belongs; the pass leaves one bit for each record, and nothing else here grows with the recording.
 *
 * A line has the record's header first, keys in the order in which a reader looks for them: who and
 * when, then what. The payload follows, decoded as far as the schemas of the recording allow, or in
 * hexadecimal. Records that describe other events (EventInfo, ManifestData) are shown decoded, too.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/os.h"
#include "etwtool/dump/dump.h"
#include "etwtool/event_fields.h"
#include "etwtool/tool.h"
#include "lib/decode/event_info.h"
#include "lib/decode/event_schema.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "lib/decode/trace_schemas.h"
#include "lib/etl/chosen.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/scan.h"

/* ---- a record as a line ---- */

static void member_time(struct json *json, const char *key, int64_t time)
{
	if (time == RECORD_NO_TIME) {
		json_member_string(json, key, NULL);
	} else {
		json_member_i64(json, key, time);
	}
}

/*
 * 0xffffffff is an id like any other where a header always has one (observed in merged recordings).
 */
static const bool has_ids[RECORD_TYPE_COUNT] = {
	[RECORD_SYSTEM] = true, [RECORD_COMPACT] = true,  [RECORD_EVENT] = true,
	[RECORD_FULL] = true,   [RECORD_INSTANCE] = true,
};

static void member_id(struct json *json, const char *key, const struct event_record *record,
		      uint32_t id)
{
	if (id == RECORD_NO_ID && !has_ids[record->type]) {
		json_member_string(json, key, NULL);
	} else {
		json_member_u64(json, key, id);
	}
}

static void add_header(struct json *json, const struct event_record *record,
		       const struct schema_origins *origins)
{
	const char *name = kernel_class_name(record->provider);
	char keyword[24];

	json_member_u64(json, "i", record->index);
	json_member_string(json, "kind", record_type_name((enum record_type)record->type));
	json_member_u64(json, "ptr", record->pointer_size);
	member_time(json, "ts", record->raw_time);
	member_time(json, "filetime", record->time);
	json_member_u64(json, "cpu", record->processor);
	member_id(json, "pid", record, record->process_id);
	member_id(json, "tid", record, record->thread_id);
	json_member_guid(json, "provider", record->provider);
	if (!name) {
		name = event_provider_name(origins, record->provider);
	}
	if (name) {
		json_member_string(json, "provider_name", name);
	}
	json_member_u64(json, "id", record->id);
	json_member_u64(json, "version", record->version);
	json_member_u64(json, "opcode", record->opcode);
	json_member_u64(json, "level", record->level);
	json_member_u64(json, "task", record->task);
	snprintf(keyword, sizeof keyword, "0x%" PRIx64, record->keyword);
	json_member_string(json, "keyword", keyword);
	json_member_u64(json, "len", record->payload_size);
}

static void add_fields(struct json *json, const struct schema *schema,
		       const struct event_record *record)
{
	struct event_fields fields;

	event_fields_locate(&fields, schema, record);
	json_member_object(json, "fields");
	event_fields_members(&fields, 0, fields.end, json);
	if (fields.rest > 0) {
		json_member_u64(json, "_rest", fields.rest);
	}
	if (fields.truncated) {
		json_key(json, "_truncated");
		json_bool(json, true);
	}
	json_object_end(json);
	event_fields_done(&fields);
}

/* ---- records that describe others ---- */

static void add_string_at(struct json *json, const uint8_t *bytes, uint32_t size, uint32_t offset)
{
	struct text text = { 0 };

	if (event_info_string(bytes, size, offset, &text)) {
		json_text(json, text.data ? text.data : "", text.size);
	} else {
		json_null(json);
	}
	text_free(&text);
}

static void member_string_at(struct json *json, const char *key, const uint8_t *bytes,
			     uint32_t size, uint32_t offset)
{
	json_key(json, key);
	add_string_at(json, bytes, size, offset);
}

static void add_event_info(struct json *json, const struct event_info *info)
{
	json_member_string(json, "event", "EventInfo");
	json_member_object(json, "fields");
	json_member_guid(json, "provider", &info->provider);
	json_member_guid(json, "event", &info->event_class);
	json_member_u64(json, "id", info->id);
	json_member_u64(json, "version", info->version);
	json_member_u64(json, "opcode", info->opcode);
	member_string_at(json, "task", info->bytes, info->size, info->task_name);
	member_string_at(json, "opcode_name", info->bytes, info->size, info->opcode_name);
	member_string_at(json, "provider_name", info->bytes, info->size, info->provider_name);
	json_member_array(json, "fields");
	for (uint32_t i = 0; i < info->property_count; i++) {
		struct event_property property;

		event_info_property(info, i, &property);
		json_array_begin(json);
		add_string_at(json, info->bytes, info->size, property.name);
		json_u64(json, property.in_type);
		json_u64(json, property.out_type);
		json_u64(json, property.flags);
		json_u64(json, property.count);
		json_u64(json, property.length);
		add_string_at(json, info->bytes, info->size, property.map_name);
		json_array_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void add_event_map(struct json *json, const struct event_map *map)
{
	json_member_string(json, "event", "EventMapInfo");
	json_member_object(json, "fields");
	json_member_guid(json, "provider", &map->provider);
	member_string_at(json, "map", map->bytes, map->size, map->name);
	json_member_u64(json, "flag", map->flag);
	json_member_object(json, "entries");
	for (uint32_t i = 0; i < map->entry_count; i++) {
		struct event_map_entry entry;
		char value[16];

		event_map_entry(map, i, &entry);
		snprintf(value, sizeof value, "%" PRIu32, entry.value);
		member_string_at(json, value, map->bytes, map->size, entry.name);
	}
	json_object_end(json);
	json_object_end(json);
}

static void add_manifest_chunk(struct json *json, const struct manifest_chunk *chunk)
{
	json_member_string(json, "event", "ManifestData");
	json_member_object(json, "fields");
	json_member_u64(json, "Format", chunk->format);
	json_member_u64(json, "Major", chunk->major);
	json_member_u64(json, "Minor", chunk->minor);
	json_member_u64(json, "Magic", chunk->magic);
	json_member_u64(json, "TotalChunks", chunk->total);
	json_member_u64(json, "ChunkNumber", chunk->number);
	json_object_end(json);
}

/* Adds decoded_by, event and fields; false when nothing here can decode the payload. */
static bool add_decoded(struct json *json, const struct event_record *record,
			const struct schema_origins *origins,
			struct tracelogging_cache *tracelogging)
{
	const struct schema *schema;
	struct manifest_chunk chunk;
	struct event_info info;
	struct event_map map;

	if (event_info_read(record, &info)) {
		json_member_string(json, "decoded_by", "metadata");
		add_event_info(json, &info);
		return true;
	}
	if (event_map_read(record, &map)) {
		json_member_string(json, "decoded_by", "metadata");
		add_event_map(json, &map);
		return true;
	}
	if (manifest_chunk_read(record, &chunk)) {
		json_member_string(json, "decoded_by", "manifestdata");
		add_manifest_chunk(json, &chunk);
		return true;
	}
	schema = event_schema(origins, tracelogging, record, NULL);
	if (!schema) {
		return false;
	}
	json_member_string(json, "decoded_by", schema_origin_name(schema));
	json_member_string(json, "event", schema->event);
	add_fields(json, schema, record);
	return true;
}

static void add_extended(struct json *json, const struct event_record *record)
{
	struct extended_item item;
	uint32_t offset = 0;

	if (!record->extended) {
		return;
	}
	json_member_array(json, "ext");
	while (record_next_extended(record, &offset, &item)) {
		json_array_begin(json);
		json_u64(json, item.type);
		json_u64(json, item.size);
		json_array_end(json);
	}
	json_array_end(json);
}

void dump_add_line(struct text *out, const struct event_record *record,
		   const struct schema_origins *origins, struct tracelogging_cache *tracelogging)
{
	struct json json;
	bool decoded;

	json_init(&json, out, true);
	json_object_begin(&json);
	add_header(&json, record, origins);
	decoded = add_decoded(&json, record, origins, tracelogging);
	add_extended(&json, record);
	if (!decoded && record->payload_size > 0) {
		struct text hex = { 0 };

		text_add_hex(&hex, record->payload, record->payload_size);
		json_key(&json, "raw");
		json_text(&json, hex.data ? hex.data : "", hex.size);
		out->failed |= hex.failed;
		text_free(&hex);
	}
	json_object_end(&json);
	text_add_char(out, '\n');
}

/* ---- what a filter keeps ---- */

struct marks {
	struct chosen chosen;
	bool hidden; /* a manifest that is not used for lines describes one of them */
};

static bool mark(struct dump_pass *pass, const struct event_record *record,
		 const struct event_class *class)
{
	const struct tool_arguments *arguments = &pass->request->arguments;
	struct marks *marks = pass->context;

	if (!marks->hidden && !arguments->builtin && class->schema && !class->classic) {
		marks->hidden = class->schema == manifest_set_schema(arguments->manifests.builtin,
								     &class->provider, class->id,
								     class->version, false);
	}
	if (!chosen_add(&marks->chosen, record->index)) {
		tool_complain(TOOL_FAILED, "dump", "no memory for the records to show");
		return false;
	}
	return true;
}

/* ---- the passes ---- */

struct dump {
	struct etl_file *file;
	struct trace_schemas *schemas;
	struct schema_origins origins;
	struct tracelogging_cache *tracelogging;
	struct etl_problems problems;
	const struct chosen *chosen; /* NULL: all */
	struct dump_limit limit;
	struct progress progress;
	struct text out;
	bool failed;
	atomic_bool stopping; /* what a visitor looks at; one thread only */
};

static void look(void *context, const struct event_record *record)
{
	struct dump *dump = context;

	trace_schemas_look(dump->schemas, record);
}

static bool add_line(struct dump *dump, const struct event_record *record)
{
	if (tracelogging_cache_full(dump->tracelogging)) {
		tracelogging_cache_clear(dump->tracelogging); /* no line needs another's schema */
	}
	dump_add_line(&dump->out, record, &dump->origins, dump->tracelogging);
	return dump_flush(&dump->out);
}

static void show(void *context, const struct event_record *record)
{
	struct dump *dump = context;

	if ((dump->chosen && !chosen_has(dump->chosen, record->index)) ||
	    !dump_limit_allows(&dump->limit, record)) {
		return;
	}
	if (!add_line(dump, record)) {
		dump->failed = true;
		atomic_store_explicit(&dump->stopping, true, memory_order_relaxed);
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
	struct etl_so_far so_far = { 0 };
	uint64_t buffers = 0;

	etl_file_scan(file, &scan, &damage, 0, 0);
	while (!dump->failed && (step = etl_scan_next(&scan, &buffer, err)) == ETL_STEP_BUFFER) {
		buffers++;
		progress_show(&dump->progress, buffer.place.offset, file->input.size_bytes, 0,
			      file->input.size_bytes);
		if (buffer.bytes) {
			etl_survey_buffer(file, &buffer, &so_far, &damage, &visitor);
		}
	}
	etl_scan_done(&scan);
	if (step == ETL_STEP_END && !dump->failed) {
		etl_check_count(file, buffers, &damage);
	}
	return step != ETL_STEP_FAILED;
}

static int dump_recording(const struct dump_request *request, const struct chosen *chosen)
{
	struct dump dump = { .chosen = chosen, .limit.per_class = request->per_class };
	const struct tool_arguments *arguments = &request->arguments;
	struct error err = { 0 };
	int status = TOOL_FAILED;

	atomic_init(&dump.stopping, false);
	progress_start(&dump.progress, "etwtool", "dump", tool_dump.output);
	dump.file = etl_file_open(arguments->words[0], arguments->pointer_size, &err);
	dump.schemas = dump.file ? trace_schemas_new(&err) : NULL;
	dump.origins = (struct schema_origins){ .trace = dump.schemas,
						.configured = arguments->manifests.configured,
						.builtin = arguments->builtin ?
								   arguments->manifests.builtin :
								   NULL };
	dump.tracelogging = dump.schemas ? tracelogging_cache_new(&err) : NULL;
	if (dump.tracelogging && pass(&dump, look, &dump.problems, &err)) {
		trace_schemas_finish(dump.schemas);
		if (pass(&dump, show, NULL, &err) && !dump.failed &&
		    tool_write("dump", &dump.out)) {
			status = TOOL_DONE;
		}
	}
	progress_end(&dump.progress);
	if (err.code != ERROR_NONE) {
		tool_complain(TOOL_FAILED, "dump", "%s", err.text);
	}
	for (size_t i = 0; i < dump.problems.count; i++) {
		tool_complain(TOOL_DONE, "dump", "warning: %s", dump.problems.sentences[i]);
	}
	if (dump.problems.dropped > 0) {
		tool_complain(TOOL_DONE, "dump", "warning: and %" PRIu64 " more like these",
			      dump.problems.dropped);
	}
	text_free(&dump.out);
	map_done(&dump.limit.shown);
	etl_problems_done(&dump.problems);
	tracelogging_cache_free(dump.tracelogging);
	trace_schemas_free(dump.schemas);
	etl_file_close(dump.file);
	return status;
}

int dump_jsonl(struct dump_request *request)
{
	struct marks marks = { .hidden = false };
	struct dump_pass pass = { .request = request, .context = &marks, .show = mark };
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
