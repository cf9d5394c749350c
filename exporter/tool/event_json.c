/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON, keys in the order that a reader looks for them: who and when, then what.
 */
#include "tool/event_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "decode/event_info.h"
#include "decode/event_schema.h"
#include "decode/event_source.h"
#include "decode/kernel_class.h"
#include "tool/event_fields.h"

static void member_guid(struct json *json, const char *key, const struct guid *guid)
{
	char text[GUID_TEXT_SIZE];

	guid_format(guid, text);
	json_member_string(json, key, text);
}

static void member_time(struct json *json, const char *key, int64_t time)
{
	json_key(json, key);
	if (time == RECORD_NO_TIME) {
		json_null(json);
	} else {
		json_i64(json, time);
	}
}

/*
 * 0xffffffff is an id like any other where a header always has one (observed in merged recordings).
 */
static bool has_ids(const struct event_record *record)
{
	switch (record->type) {
	case RECORD_SYSTEM:
	case RECORD_COMPACT:
	case RECORD_EVENT:
	case RECORD_FULL:
	case RECORD_INSTANCE:
		return true;
	default:
		return false;
	}
}

static void member_id(struct json *json, const char *key, const struct event_record *record,
		      uint32_t id)
{
	json_key(json, key);
	if (id == RECORD_NO_ID && !has_ids(record)) {
		json_null(json);
	} else {
		json_u64(json, id);
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
	member_guid(json, "provider", record->provider);
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
	json_key(json, "fields");
	json_object_begin(json);
	for (unsigned i = 0; i < fields.end; i += 1U + schema->fields[i].span) {
		json_key(json, schema->fields[i].name);
		event_fields_json(&fields, i, json);
	}
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

static void add_event_info(struct json *json, const struct event_info *info)
{
	json_member_string(json, "event", "EventInfo");
	json_key(json, "fields");
	json_object_begin(json);
	member_guid(json, "provider", &info->provider);
	member_guid(json, "event", &info->event_class);
	json_member_u64(json, "id", info->id);
	json_member_u64(json, "version", info->version);
	json_member_u64(json, "opcode", info->opcode);
	json_key(json, "task");
	add_string_at(json, info->bytes, info->size, info->task_name);
	json_key(json, "opcode_name");
	add_string_at(json, info->bytes, info->size, info->opcode_name);
	json_key(json, "provider_name");
	add_string_at(json, info->bytes, info->size, info->provider_name);
	json_key(json, "fields");
	json_array_begin(json);
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
	json_key(json, "fields");
	json_object_begin(json);
	member_guid(json, "provider", &map->provider);
	json_key(json, "map");
	add_string_at(json, map->bytes, map->size, map->name);
	json_member_u64(json, "flag", map->flag);
	json_key(json, "entries");
	json_object_begin(json);
	for (uint32_t i = 0; i < map->entry_count; i++) {
		struct event_map_entry entry;
		char value[16];

		event_map_entry(map, i, &entry);
		snprintf(value, sizeof value, "%" PRIu32, entry.value);
		json_key(json, value);
		add_string_at(json, map->bytes, map->size, entry.name);
	}
	json_object_end(json);
	json_object_end(json);
}

static void add_manifest_chunk(struct json *json, const struct manifest_chunk *chunk)
{
	json_member_string(json, "event", "ManifestData");
	json_key(json, "fields");
	json_object_begin(json);
	json_member_u64(json, "Format", chunk->format);
	json_member_u64(json, "Major", chunk->major);
	json_member_u64(json, "Minor", chunk->minor);
	json_member_u64(json, "Magic", chunk->magic);
	json_member_u64(json, "TotalChunks", chunk->total);
	json_member_u64(json, "ChunkNumber", chunk->number);
	json_object_end(json);
}

const char *event_json_origin(const struct schema *schema)
{
	static const char *const names[] = {
		[SCHEMA_KERNEL] = "kernel",
		[SCHEMA_TRACELOGGING] = "tracelogging",
		[SCHEMA_MANIFEST] = "manifest",
		[SCHEMA_EVENT_INFO] = "eventinfo",
	};

	return names[schema->origin];
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
	json_member_string(json, "decoded_by", event_json_origin(schema));
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
	json_key(json, "ext");
	json_array_begin(json);
	while (record_next_extended(record, &offset, &item)) {
		json_array_begin(json);
		json_u64(json, item.type);
		json_u64(json, item.size);
		json_array_end(json);
	}
	json_array_end(json);
}

void event_json_add(struct text *out, const struct event_record *record,
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
