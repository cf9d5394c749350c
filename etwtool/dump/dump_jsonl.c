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
	if (time == ETW_RECORD_NO_TIME) {
		json_member_string(json, key, NULL);
	} else {
		json_member_i64(json, key, time);
	}
}

/*
 * 0xffffffff is an id like any other where a header always has one (observed in merged recordings).
 */
static const bool has_ids[ETW_RECORD_TYPE_COUNT] = {
	[ETW_RECORD_SYSTEM] = true, [ETW_RECORD_COMPACT] = true,  [ETW_RECORD_EVENT] = true,
	[ETW_RECORD_FULL] = true,   [ETW_RECORD_INSTANCE] = true,
};

static void member_id(struct json *json, const char *key, const struct etw_record *record,
		      uint32_t id)
{
	if (id == ETW_RECORD_NO_ID && !has_ids[record->type]) {
		json_member_string(json, key, NULL);
	} else {
		json_member_u64(json, key, id);
	}
}

static void add_header(struct json *json, const struct etw_record *record,
		       const struct etw_schema_origins *origins)
{
	const char *name = etw_kernel_class_name(record->provider);
	char keyword[24];

	json_member_u64(json, "i", record->index);
	json_member_string(json, "kind", etw_record_type_name((enum etw_record_type)record->type));
	json_member_u64(json, "ptr", record->pointer_size);
	member_time(json, "ts", record->raw_time);
	member_time(json, "filetime", record->time);
	json_member_u64(json, "cpu", record->processor);
	member_id(json, "pid", record, record->process_id);
	member_id(json, "tid", record, record->thread_id);
	json_member_guid(json, "provider", record->provider);
	if (!name) {
		name = etw_event_provider_name(origins, record->provider);
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

static void add_fields(struct json *json, const struct etw_schema *schema,
		       const struct etw_record *record)
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
	struct etw_text text = { 0 };

	if (etw_event_info_string(bytes, size, offset, &text)) {
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

static void add_event_info(struct json *json, const struct etw_event_info *info)
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
		struct etw_event_property property;

		etw_event_info_property(info, i, &property);
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

static void add_event_map(struct json *json, const struct etw_event_map *map)
{
	json_member_string(json, "event", "EventMapInfo");
	json_member_object(json, "fields");
	json_member_guid(json, "provider", &map->provider);
	member_string_at(json, "map", map->bytes, map->size, map->name);
	json_member_u64(json, "flag", map->flag);
	json_member_object(json, "entries");
	for (uint32_t i = 0; i < map->entry_count; i++) {
		struct etw_event_map_entry entry;
		char value[16];

		etw_event_map_entry(map, i, &entry);
		snprintf(value, sizeof value, "%" PRIu32, entry.value);
		member_string_at(json, value, map->bytes, map->size, entry.name);
	}
	json_object_end(json);
	json_object_end(json);
}

static void add_manifest_chunk(struct json *json, const struct etw_manifest_chunk *chunk)
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
static bool add_decoded(struct json *json, const struct etw_record *record,
			const struct etw_schema_origins *origins,
			struct etw_tracelogging_cache *tracelogging)
{
	const struct etw_schema *schema;
	struct etw_manifest_chunk chunk;
	struct etw_event_info info;
	struct etw_event_map map;

	if (etw_event_info_read(record, &info)) {
		json_member_string(json, "decoded_by", "metadata");
		add_event_info(json, &info);
		return true;
	}
	if (etw_event_map_read(record, &map)) {
		json_member_string(json, "decoded_by", "metadata");
		add_event_map(json, &map);
		return true;
	}
	if (etw_manifest_chunk_read(record, &chunk)) {
		json_member_string(json, "decoded_by", "manifestdata");
		add_manifest_chunk(json, &chunk);
		return true;
	}
	schema = etw_event_schema(origins, tracelogging, record, NULL);
	if (!schema) {
		return false;
	}
	json_member_string(json, "decoded_by", schema_origin_name(schema));
	json_member_string(json, "event", schema->event);
	add_fields(json, schema, record);
	return true;
}

static void add_extended(struct json *json, const struct etw_record *record)
{
	struct etw_extended_item item;
	uint32_t offset = 0;

	if (!record->extended) {
		return;
	}
	json_member_array(json, "ext");
	while (etw_record_next_extended(record, &offset, &item)) {
		json_array_begin(json);
		json_u64(json, item.type);
		json_u64(json, item.size);
		json_array_end(json);
	}
	json_array_end(json);
}

void dump_add_line(struct etw_text *out, const struct etw_record *record,
		   const struct etw_schema_origins *origins,
		   struct etw_tracelogging_cache *tracelogging)
{
	struct json json;
	bool decoded;

	json_init(&json, out, true);
	json_object_begin(&json);
	add_header(&json, record, origins);
	decoded = add_decoded(&json, record, origins, tracelogging);
	add_extended(&json, record);
	if (!decoded && record->payload_size > 0) {
		struct etw_text hex = { 0 };

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

static bool mark(struct dump_pass *pass, const struct etw_record *record,
		 const struct etw_event_class *class)
{
	const struct tool_arguments *arguments = &pass->request->arguments;
	struct marks *marks = pass->context;

	if (!marks->hidden && !arguments->builtin && class->schema && !class->classic) {
		marks->hidden = class->schema ==
				etw_manifest_set_schema(arguments->manifests.builtin,
							&class->provider, class->id, class->version,
							false);
	}
	if (!chosen_add(&marks->chosen, record->index)) {
		tool_complain(TOOL_FAILED, "dump", "no memory for the records to show");
		return false;
	}
	return true;
}

/* ---- the passes ---- */

struct dump {
	struct etw_file *file;
	struct etw_trace_schemas *schemas;
	struct etw_schema_origins origins;
	struct etw_tracelogging_cache *tracelogging;
	struct etw_problems problems;
	const struct chosen *chosen; /* NULL: all */
	struct dump_limit limit;
	struct progress progress;
	struct etw_text out;
	bool failed;
	atomic_bool stopping; /* what a visitor looks at; one thread only */
};

static void look(void *context, const struct etw_record *record)
{
	struct dump *dump = context;

	etw_trace_schemas_look(dump->schemas, record);
}

static bool add_line(struct dump *dump, const struct etw_record *record)
{
	if (etw_tracelogging_cache_full(dump->tracelogging)) {
		etw_tracelogging_cache_clear(
			dump->tracelogging); /* no line needs another's schema */
	}
	dump_add_line(&dump->out, record, &dump->origins, dump->tracelogging);
	return dump_flush(&dump->out);
}

static void show(void *context, const struct etw_record *record)
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
static bool pass(struct dump *dump, void (*visit)(void *context, const struct etw_record *record),
		 struct etw_problems *problems, struct etw_error *err)
{
	struct etw_damage damage = { .problems = problems };
	struct etw_visitor visitor = { .record_context = dump,
				       .on_record = visit,
				       .stopping = &dump->stopping };
	struct etw_file *file = dump->file;
	struct etw_scan scan;
	struct etw_buffer buffer;
	enum etw_step step = ETW_STEP_END;
	struct etw_so_far so_far = { 0 };
	uint64_t buffers = 0;

	etw_file_scan(file, &scan, &damage, 0, 0);
	while (!dump->failed && (step = etw_scan_next(&scan, &buffer, err)) == ETW_STEP_BUFFER) {
		buffers++;
		progress_show(&dump->progress, buffer.place.offset, file->input.size_bytes, 0,
			      file->input.size_bytes);
		if (buffer.bytes) {
			etw_survey_buffer(file, &buffer, &so_far, &damage, &visitor);
		}
	}
	etw_scan_done(&scan);
	if (step == ETW_STEP_END && !dump->failed) {
		etw_check_count(file, buffers, &damage);
	}
	return step != ETW_STEP_FAILED;
}

static int dump_recording(const struct dump_request *request, const struct chosen *chosen)
{
	struct dump dump = { .chosen = chosen, .limit.per_class = request->per_class };
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
	if (dump.tracelogging && pass(&dump, look, &dump.problems, &err)) {
		etw_trace_schemas_finish(dump.schemas);
		if (pass(&dump, show, NULL, &err) && !dump.failed &&
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
