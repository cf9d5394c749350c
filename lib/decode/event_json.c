/* SPDX-License-Identifier: MIT */
/*
 * Writes an event as one JSON object. The record's header comes first: who and when, then what. The
 * payload follows, decoded as far as its schema allows, or in hexadecimal. Records that describe
 * other events (EventInfo, ManifestData) are decoded, too. Structures are JSON objects and arrays
 * are lists.
 *
 * etw_event_fields_locate() walks the payload once. A payload may end early; then the fields before
 * the cut are whole, and a structure is whole only together with all its members. The members of an
 * array of structures are located again for each element, with the same slices.
 */

#include <inttypes.h>
#include <stdio.h>

#include <etw/event_json.h>
#include <etw/kernel.h>
#include <etw/manifest.h>

#include "base/json.h"
#include "lib/decode/schema.h"

const char *etw_schema_origin_name(const struct etw_schema *schema)
{
	static const char *const names[] = {
		[ETW_SCHEMA_KERNEL] = "kernel",     [ETW_SCHEMA_TRACELOGGING] = "tracelogging",
		[ETW_SCHEMA_MANIFEST] = "manifest", [ETW_SCHEMA_EVENT_INFO] = "eventinfo",
		[ETW_SCHEMA_STRING] = "string",
	};

	return schema ? names[schema->origin] : NULL;
}

/* ---- values ---- */

static void add_number(struct json *json, const struct etw_field *field,
		       const struct etw_field_slice *slice)
{
	switch (field->type) {
	case ETW_FIELD_BOOL8:
	case ETW_FIELD_BOOL16:
	case ETW_FIELD_BOOL32:
		json_bool(json, etw_field_u64(field, slice) != 0);
		break;
	case ETW_FIELD_FLOAT:
	case ETW_FIELD_DOUBLE:
		json_double(json, etw_field_double(field, slice));
		break;
	default:
		if (etw_field_is_signed(field)) {
			json_i64(json, (int64_t)etw_field_u64(field, slice));
		} else {
			json_u64(json, etw_field_u64(field, slice));
		}
		break;
	}
}

static void add_one(struct json *json, const struct etw_field *field,
		    const struct etw_field_slice *slice, struct etw_text *scratch)
{
	if (field->type <= ETW_FIELD_DOUBLE) {
		add_number(json, field, slice);
	} else if (field->type == ETW_FIELD_NULL ||
		   (field->type == ETW_FIELD_KERNEL_SID && slice->size == 0)) {
		json_null(json);
	} else {
		text_clear(scratch);
		etw_field_text(field, slice, scratch);
		json_text(json, scratch->data ? scratch->data : "", scratch->size);
		json->out->failed |= scratch->failed;
	}
}

static void add_value(struct json *json, const struct etw_field *field,
		      const struct etw_field_slice *slice, struct etw_text *scratch)
{
	struct etw_field element_field = *field;
	struct etw_field_slice element;
	uint32_t offset = 0;

	if (!etw_field_is_list(field)) {
		add_one(json, field, slice, scratch);
		return;
	}
	element_field.count_type = ETW_FIELD_SCALAR;
	json_array_begin(json);
	while (etw_field_next_element(field, slice, &offset, &element)) {
		add_one(json, &element_field, &element, scratch);
	}
	json_array_end(json);
}

static void add_struct(struct json *json, struct etw_event_fields *fields, unsigned index)
{
	const struct etw_field *field = &fields->schema->fields[index];
	unsigned end = etw_field_after(fields->schema, index);
	uint32_t offset = 0;

	if (field->count_type == ETW_FIELD_SCALAR) {
		json_object_begin(json);
		etw_event_fields_members(fields, index + 1, end, json);
		json_object_end(json);
		return;
	}
	json_array_begin(json);
	while (etw_field_next_struct(fields->schema, index, fields->record, fields->slices,
				     &offset)) {
		json_object_begin(json);
		etw_event_fields_members(fields, index + 1, end, json);
		json_object_end(json);
	}
	json_array_end(json);
}

void etw_event_fields_json(struct etw_event_fields *fields, unsigned index, struct json *json)
{
	struct etw_field field = fields->schema->fields[index];

	/* A merged recording describes these events itself. Other decoders show bytes here, and
	 * dumps are compared with theirs. */
	if (fields->schema->origin == ETW_SCHEMA_EVENT_INFO &&
	    field.form == ETW_FIELD_FORM_SOCKADDR) {
		field.form = ETW_FIELD_FORM_PLAIN;
	}
	if (field.type == ETW_FIELD_STRUCT) {
		add_struct(json, fields, index);
	} else {
		add_value(json, &field, &fields->slices[index], &fields->scratch);
	}
}

void etw_event_fields_members(struct etw_event_fields *fields, unsigned first, unsigned end,
			      struct json *json)
{
	for (unsigned i = first; i < end; i = etw_field_after(fields->schema, i)) {
		json_key(json, fields->schema->fields[i].name);
		etw_event_fields_json(fields, i, json);
	}
}

void etw_event_fields_locate(struct etw_event_fields *fields, const struct etw_schema *schema,
			     const struct etw_record *record)
{
	unsigned count = schema->field_count, whole, end;

	fields->schema = schema;
	fields->record = record;
	fields->rest = record->payload_size;
	fields->scratch = (struct etw_text){ 0 };
	fields->end = 0;
	fields->truncated = false;
	if (count == 0) {
		return;
	}
	whole = etw_fields_walk(schema, count - 1, record, fields->slices, &fields->rest);
	end = schema_end_of_whole(schema, whole);
	fields->end = end;
	/* The payload ended inside a field, which can be a structure. */
	fields->truncated =
		end < count &&
		(fields->slices[end].cut || fields->slices[whole].cut ||
		 (end < whole && fields->slices[end].at < record->payload + record->payload_size));
}

void etw_event_fields_done(struct etw_event_fields *fields)
{
	text_free(&fields->scratch);
}

/* ---- the header ---- */

static void member_time(struct json *json, const char *key, int64_t time)
{
	if (time == ETW_RECORD_NO_TIME) {
		json_member_string(json, key, NULL);
	} else {
		json_member_i64(json, key, time);
	}
}

/*
 * Headers that always have ids: in these, 0xffffffff is a valid id (observed in merged recordings).
 */
static const bool has_ids[ETW_RECORD_TYPE_COUNT] = {
	[ETW_RECORD_SYSTEM] = true, [ETW_RECORD_COMPACT] = true,  [ETW_RECORD_EVENT] = true,
	[ETW_RECORD_FULL] = true,   [ETW_RECORD_INSTANCE] = true, [ETW_RECORD_STRING] = true,
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
		       const char *provider_name)
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
		name = provider_name;
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
	struct etw_event_fields fields;

	etw_event_fields_locate(&fields, schema, record);
	json_member_object(json, "fields");
	etw_event_fields_members(&fields, 0, fields.end, json);
	if (fields.rest > 0) {
		json_member_u64(json, "_rest", fields.rest);
	}
	if (fields.truncated) {
		json_key(json, "_truncated");
		json_bool(json, true);
	}
	json_object_end(json);
	etw_event_fields_done(&fields);
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
	json->out->failed |= text.failed;
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

/* Adds decoded_by, event and fields. Returns false if nothing here can decode the payload. */
static bool add_decoded(struct json *json, const struct etw_record *record,
			const struct etw_schema *schema, const char *event_name)
{
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
	if (!schema) {
		return false;
	}
	json_member_string(json, "decoded_by", etw_schema_origin_name(schema));
	json_member_string(json, "event", event_name ? event_name : schema->event);
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

void etw_event_json_add(struct etw_text *out, const struct etw_record *record,
			const char *provider_name, const char *event_name,
			const struct etw_schema *schema,
			void (*more)(void *context, struct json *json), void *context)
{
	struct json json;
	bool decoded;

	json_init(&json, out, true);
	json_object_begin(&json);
	add_header(&json, record, provider_name);
	decoded = add_decoded(&json, record, schema, event_name);
	add_extended(&json, record);
	if (more) {
		more(context, &json);
	}
	if (!decoded && record->payload_size > 0) {
		struct etw_text hex = { 0 };

		text_add_hex(&hex, record->payload, record->payload_size);
		json_key(&json, "raw");
		json_text(&json, hex.data ? hex.data : "", hex.size);
		out->failed |= hex.failed;
		text_free(&hex);
	}
	json_object_end(&json);
}
