/* SPDX-License-Identifier: MIT */
/*
 * Makes records from lines of JSON.
 *
 * The header of a record comes from the keys beside `fields`. One of them states the header type.
 * Without it, a kernel class gets the header of the kernel, and any other provider that of manifest
 * events. A kernel record has a group in place of a GUID; the group is looked up by the GUID.
 *
 * The payload comes from `raw`, or is encoded from `fields` with a schema (include/etw/mirror.h). A
 * kernel class has its own schemas; a manifest event has the schema that the recording or the
 * configured manifests give for its ids. A TraceLogging event contains its layout, but a line has
 * only the values. So the layouts from event_lines_learn() with the same provider and event name
 * are tried first: the right one accepts the values and gives as many bytes as `len` says. Two
 * programs can use one name with different types, so without `len` the first layout that accepts
 * the values is used. If none does, a layout is made from the values.
 *
 * Lines are written by hand and by programs, so each error names its key and what was expected. An
 * unknown key is an error, because it is probably misspelt.
 */
#include "etwtool/relog/relog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/mirror.h>

#include "base/array.h"
#include "base/guid.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"

enum { EVENT_IS_CLASSIC = 0x0100 }; /* EVENT_HEADER_FLAG_CLASSIC_HEADER */
enum { FILE_SIZE_MOST = 1 << 30 };

/* The layout of a TraceLogging event in the recording. */
struct tracelogging_layout {
	const struct etw_schema *schema; /* owned by the cache */
	uint8_t *metadata;               /* owned */
	uint16_t size;
	size_t next; /* index + 1 of the next layout with the same provider and name; 0: none */
};

struct event_lines {
	struct event_lines_options options;
	struct etw_tracelogging_cache *tracelogging;
	struct tracelogging_layout *layouts; /* owned */
	size_t layout_count, layout_capacity;
	struct map by_name; /* hash of provider and event name -> index + 1 in layouts */

	/* State of the present line. */
	struct json_document document;
	struct etw_guid provider;
	struct etw_payload payload, metadata, traits;
	struct etw_out_item items[2];
};

/* ---- layouts ---- */

static uint64_t layout_key(const struct etw_guid *provider, const char *event)
{
	return text_hash(event, strlen(event), 1) ^
	       text_hash((const char *)provider->bytes, sizeof provider->bytes, 2);
}

static bool add_layout(struct event_lines *lines, const struct etw_guid *provider,
		       const struct etw_extended_item *item, const struct etw_schema *schema,
		       struct etw_error *err)
{
	uint64_t *first = map_put(&lines->by_name, layout_key(provider, schema->event), NULL);
	struct tracelogging_layout *grown = array_grow(lines->layouts, &lines->layout_capacity,
						       lines->layout_count, sizeof *grown);
	uint8_t *metadata = malloc(item->size);

	if (grown) {
		lines->layouts = grown;
	}
	if (!first || !grown || !metadata) {
		free(metadata);
		return error_no_memory(err, "the layout of an event");
	}
	memcpy(metadata, item->data, item->size);
	lines->layouts[lines->layout_count++] = (struct tracelogging_layout){
		.schema = schema, .metadata = metadata, .size = item->size, .next = (size_t)*first
	};
	*first = lines->layout_count;
	return true;
}

bool event_lines_learn(struct event_lines *lines, const struct etw_record *record,
		       struct etw_error *err)
{
	struct etw_extended_item item;
	const struct etw_schema *schema;
	const uint64_t *first;

	if (!etw_tracelogging_metadata(record, &item) ||
	    etw_tracelogging_cache_full(lines->tracelogging)) {
		return true;
	}
	schema = etw_tracelogging_schema(lines->tracelogging, &item);
	if (!schema) {
		return true;
	}
	first = map_find(&lines->by_name, layout_key(record->provider, schema->event));
	for (size_t i = first ? (size_t)*first : 0; i > 0; i = lines->layouts[i - 1].next) {
		if (lines->layouts[i - 1].schema == schema) {
			return true;
		}
	}
	return add_layout(lines, record->provider, &item, schema, err);
}

struct event_lines *event_lines_new(const struct event_lines_options *options,
				    struct etw_error *err)
{
	struct event_lines *lines = calloc(1, sizeof *lines);

	if (!lines) {
		error_no_memory(err, "lines of events");
		return NULL;
	}
	lines->options = *options;
	etw_payload_init(&lines->payload, 8);
	etw_payload_init(&lines->metadata, 8);
	etw_payload_init(&lines->traits, 8);
	lines->tracelogging = etw_tracelogging_cache_new(err);
	if (!lines->tracelogging) {
		event_lines_free(lines);
		return NULL;
	}
	return lines;
}

void event_lines_free(struct event_lines *lines)
{
	if (!lines) {
		return;
	}
	for (size_t i = 0; i < lines->layout_count; i++) {
		free(lines->layouts[i].metadata);
	}
	free(lines->layouts);
	map_done(&lines->by_name);
	etw_tracelogging_cache_free(lines->tracelogging);
	json_document_done(&lines->document);
	etw_payload_done(&lines->payload);
	etw_payload_done(&lines->metadata);
	etw_payload_done(&lines->traits);
	free(lines);
}

/* ---- keys ---- */

static bool wrong_value(const char *key, const char *what, const struct etw_json_value *value,
			struct etw_error *err)
{
	if (!value) {
		return error_set(err, ETW_ERROR_FORMAT, "%s: expected %s, but it is missing", key,
				 what);
	}
	if (value->text) {
		return error_set(err, ETW_ERROR_FORMAT, "%s: expected %s, found %.60s", key, what,
				 value->text);
	}
	return error_set(err, ETW_ERROR_FORMAT, "%s: expected %s, found %s", key, what,
			 json_type_name(value->type));
}

/* Checks the keys. Some of them do not affect the record; dumps have them for people. */
static bool check_keys(const struct etw_json_value *root, struct etw_error *err)
{
	static const char *const keys[] = { "i",        "kind",          "ptr",        "ts",
					    "filetime", "cpu",           "pid",        "tid",
					    "provider", "provider_name", "id",         "version",
					    "opcode",   "level",         "task",       "keyword",
					    "len",      "decoded_by",    "event",      "fields",
					    "ext",      "raw",           "Event.Stack" };

	for (const struct etw_json_value *value = root->first; value; value = value->next) {
		size_t i = 0;

		while (i < sizeof keys / sizeof keys[0] && strcmp(keys[i], value->key) != 0) {
			i++;
		}
		if (i == sizeof keys / sizeof keys[0]) {
			return error_set(err, ETW_ERROR_FORMAT, "%.60s: a line has no such key",
					 value->key);
		}
	}
	return true;
}

/* Reads a number from 0 to most; it is 0 if the key is missing. */
static bool read_number(const struct etw_json_value *root, const char *key, uint64_t most,
			uint64_t *number, struct etw_error *err)
{
	const struct etw_json_value *value = json_member(root, key);
	char range[64];

	*number = 0;
	if (!value || ((value->type == JSON_NUMBER || value->type == JSON_TEXT) &&
		       parse_u64(value->text, value->size, number) && *number <= most)) {
		return true;
	}
	snprintf(range, sizeof range, "a whole number from 0 to %" PRIu64, most);
	return wrong_value(key, range, value, err);
}

static bool read_id(const struct etw_json_value *root, const char *key, uint32_t *id,
		    struct etw_error *err)
{
	const struct etw_json_value *value = json_member(root, key);
	uint64_t number;

	if (value && value->type == JSON_NULL) {
		*id = ETW_RECORD_NO_ID;
		return true;
	}
	if (!read_number(root, key, UINT32_MAX, &number, err)) {
		return false;
	}
	*id = (uint32_t)number;
	return true;
}

static bool read_numbers(const struct etw_json_value *root, struct etw_out_record *record,
			 struct etw_error *err)
{
	uint64_t ptr, cpu, id, version, opcode, level, task, keyword;

	if (!read_number(root, "ptr", 8, &ptr, err) ||
	    !read_number(root, "cpu", UINT16_MAX, &cpu, err) ||
	    !read_number(root, "id", UINT16_MAX, &id, err) ||
	    !read_number(root, "version", UINT8_MAX, &version, err) ||
	    !read_number(root, "opcode", UINT8_MAX, &opcode, err) ||
	    !read_number(root, "level", UINT8_MAX, &level, err) ||
	    !read_number(root, "task", UINT16_MAX, &task, err) ||
	    !read_number(root, "keyword", UINT64_MAX, &keyword, err) ||
	    !read_id(root, "pid", &record->process_id, err) ||
	    !read_id(root, "tid", &record->thread_id, err)) {
		return false;
	}
	if (ptr != 0 && ptr != 4 && ptr != 8) {
		return wrong_value("ptr", "4 or 8", json_member(root, "ptr"), err);
	}
	record->pointer_size = (uint8_t)ptr;
	record->processor = (uint16_t)cpu;
	record->id = (uint16_t)id;
	record->version = (uint8_t)version;
	record->opcode = (uint8_t)opcode;
	record->level = (uint8_t)level;
	record->task = (uint16_t)task;
	record->keyword = keyword;
	return true;
}

/* Reads ts, which is exact, or filetime, which people use. */
static bool read_time(const struct event_lines *lines, const struct etw_json_value *root,
		      struct etw_out_record *record, struct etw_error *err)
{
	const struct etw_json_value *raw = json_member(root, "ts");
	const struct etw_json_value *wall = json_member(root, "filetime");
	int64_t time;

	if (raw) {
		return (raw->type == JSON_NUMBER &&
			parse_i64(raw->text, raw->size, &record->raw_time)) ||
		       wrong_value("ts", "ticks of the recording's clock, a whole number", raw,
				   err);
	}
	if (!wall || wall->type != JSON_NUMBER || !parse_i64(wall->text, wall->size, &time)) {
		return wrong_value("filetime", "100 ns since 1601, a whole number (or ts)", wall,
				   err);
	}
	record->raw_time = etw_clock_raw_time(lines->options.clock, time);
	return true;
}

static bool read_provider(struct event_lines *lines, const struct etw_json_value *root,
			  struct etw_error *err)
{
	const struct etw_json_value *guid = json_member(root, "provider");
	const struct etw_json_value *name = json_member(root, "provider_name");

	if (!guid && name && name->type == JSON_TEXT &&
	    etw_kernel_class_find(name->text, name->size, &lines->provider)) {
		return true;
	}
	return (guid && guid->type == JSON_TEXT && etw_guid_parse(guid->text, &lines->provider)) ||
	       wrong_value("provider", "a GUID (or the name of a kernel class as provider_name)",
			   guid, err);
}

static bool is_decoded_by(const struct etw_json_value *root, const char *origin)
{
	const struct etw_json_value *by = json_member(root, "decoded_by");

	return by && by->type == JSON_TEXT && strcmp(by->text, origin) == 0;
}

static bool read_type(const struct event_lines *lines, const struct etw_json_value *root,
		      struct etw_out_record *record, struct etw_error *err)
{
	const struct etw_json_value *header = json_member(root, "kind");

	if (!header) {
		record->type = is_decoded_by(root, "string")                ? ETW_RECORD_STRING :
			       etw_kernel_class_is_kernel(&lines->provider) ? ETW_RECORD_SYSTEM :
									      ETW_RECORD_EVENT;
		return true;
	}
	for (unsigned type = ETW_RECORD_SYSTEM; type <= ETW_RECORD_INSTANCE; type++) {
		if (header->type == JSON_TEXT &&
		    strcmp(header->text, etw_record_type_name((enum etw_record_type)type)) == 0) {
			record->type = type == ETW_RECORD_EVENT && is_decoded_by(root, "string") ?
					       ETW_RECORD_STRING :
					       (enum etw_record_type)type;
			return true;
		}
	}
	return wrong_value("kind", "system, compact, perfinfo, event, full or instance", header,
			   err);
}

/* Finds the group that kernel records have in place of a GUID. */
static bool find_group(const struct event_lines *lines, struct etw_out_record *record,
		       struct etw_error *err)
{
	if (record->type > ETW_RECORD_PERFINFO) {
		return true;
	}
	record->group = etw_kernel_record_group(&lines->provider, record->opcode);
	return record->group != ETW_RECORD_NO_GROUP ||
	       error_set(err, ETW_ERROR_FORMAT,
			 "provider: a record of type %s is of a kernel group, but this GUID is of "
			 "none; type \"full\" takes it",
			 etw_record_type_name(record->type));
}

static bool has_event_header(const struct etw_out_record *record)
{
	return record->type == ETW_RECORD_EVENT || record->type == ETW_RECORD_STRING;
}

/* ---- payloads ---- */

static bool read_raw(struct event_lines *lines, const struct etw_json_value *raw,
		     struct etw_error *err)
{
	const struct etw_field bytes = { .type = ETW_FIELD_BINARY };

	return etw_encode_value(&bytes, raw, &lines->payload, err) || error_prefix(err, "raw");
}

static bool encode_payload(struct event_lines *lines, const struct etw_schema *schema,
			   const struct etw_json_value *fields, size_t size, struct etw_error *err)
{
	etw_payload_clear(&lines->payload);
	return etw_encode_fields(schema, fields, size, &lines->payload, err) ||
	       error_prefix(err, "fields");
}

/*
 * Returns the first layout of a kernel event that accepts the values. It is for events whose
 * payload size alone decides the layout, when the line has no size.
 */
static const struct etw_schema *find_by_fields(struct event_lines *lines,
					       const struct etw_record *like,
					       const struct etw_json_value *fields)
{
	const struct etw_schema *schema;

	for (unsigned i = 0;
	     (schema = etw_kernel_schema_at(like->provider, like->opcode, i, NULL)) != NULL; i++) {
		if (encode_payload(lines, schema, fields, 0, NULL)) {
			break;
		}
	}
	return schema;
}

/* Returns the schema of the record; size is that of the payload, 0 if unknown. */
static const struct etw_schema *find_schema(struct event_lines *lines,
					    const struct etw_out_record *record, bool classic,
					    const struct etw_json_value *fields, size_t size)
{
	struct etw_record like = {
		.provider = &lines->provider,
		.process_id = record->process_id, /* processes may have different manifests */
		.time = etw_clock_time(lines->options.clock, record->raw_time),
		.payload = (const uint8_t *)"",
		.id = record->id,
		.task = record->task,
		.version = record->version,
		.opcode = record->opcode,
		.level = record->level,
		.pointer_size = lines->payload.pointer_size,
		.type = (uint8_t)record->type,
		.classic = classic,
		.kernel_group = record->type <= ETW_RECORD_PERFINFO ? record->group :
								      ETW_RECORD_NO_GROUP,
		.keyword = record->keyword,
	};

	if (etw_kernel_form(&like) != 0) {
		like.payload_size = (uint32_t)size; /* only etw_kernel_schema_of() reads it */
		return size == 0 ? find_by_fields(lines, &like, fields) :
				   etw_kernel_schema_of(&like);
	}
	return etw_event_schema(lines->options.origins, lines->tracelogging, &like, NULL);
}

static void use_layout(struct event_lines *lines, const uint8_t *metadata, size_t size)
{
	etw_payload_clear(&lines->metadata);
	etw_payload_bytes(&lines->metadata, metadata, size);
}

/*
 * Returns a known layout that accepts the values, preferably one that gives the size; NULL if none
 * does.
 */
static const struct tracelogging_layout *find_layout(struct event_lines *lines, const char *event,
						     const struct etw_json_value *fields,
						     size_t size)
{
	const uint64_t *first = map_find(&lines->by_name, layout_key(&lines->provider, event));
	const struct tracelogging_layout *fits = NULL;

	for (size_t i = first ? (size_t)*first : 0; i > 0; i = lines->layouts[i - 1].next) {
		const struct tracelogging_layout *layout = &lines->layouts[i - 1];

		if (!encode_payload(lines, layout->schema, fields, size, NULL)) {
			continue;
		}
		if (size == lines->payload.size) {
			return layout;
		}
		fits = fits ? fits : layout;
	}
	return fits;
}

static bool make_tracelogging(struct event_lines *lines, const struct etw_json_value *root,
			      const struct etw_json_value *fields, size_t size,
			      struct etw_error *err)
{
	const struct etw_json_value *event = json_member(root, "event");
	const struct tracelogging_layout *layout;
	const struct etw_schema *schema;
	struct etw_extended_item item = { .type = ETW_EXTENDED_TRACELOGGING };

	if (!event || event->type != JSON_TEXT) {
		return wrong_value("event", "the name of the event", event, err);
	}
	layout = find_layout(lines, event->text, fields, size);
	if (layout) {
		use_layout(lines, layout->metadata, layout->size);
		return encode_payload(lines, layout->schema, fields, size, err);
	}
	if (!etw_tracelogging_build(event, fields, &lines->metadata, err)) {
		return error_prefix(err, "fields");
	}
	item.data = lines->metadata.bytes;
	item.size = (uint16_t)lines->metadata.size;
	if (etw_tracelogging_cache_full(lines->tracelogging)) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "fields: there are too many layouts of events");
	}
	schema = etw_tracelogging_schema(lines->tracelogging, &item);
	if (!schema) {
		return error_no_memory(err, "the layout of an event");
	}
	return encode_payload(lines, schema, fields, size, err);
}

static bool make_fields(struct event_lines *lines, const struct etw_json_value *root,
			struct etw_out_record *record, struct etw_error *err)
{
	const struct etw_json_value *fields = json_member(root, "fields");
	const struct etw_json_value *by = json_member(root, "decoded_by");
	bool tracelogging = is_decoded_by(root, "tracelogging");
	bool classic = !has_event_header(record) || (record->flags & EVENT_IS_CLASSIC) != 0;
	const struct etw_schema *schema = NULL;
	uint64_t size;

	if (!read_number(root, "len", UINT16_MAX, &size, err)) {
		return false;
	}
	if (fields->type != JSON_OBJECT) {
		return wrong_value("fields", "an object", fields, err);
	}
	if (!tracelogging) {
		schema = find_schema(lines, record, classic, fields, (size_t)size);
	}
	if (!tracelogging && !schema && record->type == ETW_RECORD_EVENT) {
		schema = find_schema(lines, record, true, fields, (size_t)size);
		record->flags |= schema ? EVENT_IS_CLASSIC : 0;
	}
	if (schema) {
		return encode_payload(lines, schema, fields, (size_t)size, err);
	}
	if (record->type == ETW_RECORD_EVENT && (tracelogging || !by)) {
		return make_tracelogging(lines, root, fields, (size_t)size, err);
	}
	return error_set(err, ETW_ERROR_FORMAT,
			 "fields: no schema is known of this event (provider, id, version and "
			 "opcode); raw takes the bytes of its payload");
}

/* Returns whether `fields` is a summary: lines about records that describe events have one. */
static bool is_summary(const struct etw_json_value *root)
{
	return is_decoded_by(root, "metadata") || is_decoded_by(root, "manifestdata");
}

static bool make_payload(struct event_lines *lines, const struct etw_json_value *root,
			 struct etw_out_record *record, struct etw_error *err)
{
	const struct etw_json_value *raw = json_member(root, "raw");

	etw_payload_clear(&lines->payload);
	etw_payload_clear(&lines->metadata);
	lines->payload.pointer_size = record->pointer_size != 0 ? record->pointer_size :
								  lines->options.pointer_size;
	if (raw) {
		return read_raw(lines, raw, err);
	}
	if (is_summary(root)) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "decoded_by: a record that describes events is not in a dump as a "
				 "whole, so none can be made of it");
	}
	return !json_member(root, "fields") || make_fields(lines, root, record, err);
}

/* ---- extended items ---- */

/* Returns whether the line lists an item of this type, or has no list of items. */
static bool has_item(const struct etw_json_value *root, enum etw_extended_type type)
{
	const struct etw_json_value *list = json_member(root, "ext");
	uint64_t number;

	if (!list) {
		return true;
	}
	for (const struct etw_json_value *item = list->first; item; item = item->next) {
		const struct etw_json_value *first = item->first;

		if (first && first->type == JSON_NUMBER &&
		    parse_u64(first->text, first->size, &number) && number == (uint64_t)type) {
			return true;
		}
	}
	return false;
}

static void add_item(struct event_lines *lines, struct etw_out_record *record,
		     enum etw_extended_type type, const struct etw_payload *data)
{
	lines->items[record->item_count++] = (struct etw_out_item){ .type = (uint16_t)type,
								    .size = (uint16_t)data->size,
								    .data = data->bytes };
}

/* Adds the items with the layout of a TraceLogging event and with the name of its provider. */
static bool add_items(struct event_lines *lines, const struct etw_json_value *root,
		      struct etw_out_record *record, struct etw_error *err)
{
	const struct etw_json_value *name = json_member(root, "provider_name");
	bool has_layout = lines->metadata.size > 0;

	record->items = lines->items;
	if (name && name->type == JSON_TEXT && name->size > 0 && has_event_header(record) &&
	    (json_member(root, "ext") ? has_item(root, ETW_EXTENDED_PROVIDER_TRAITS) :
					has_layout)) {
		if (name->size > UINT16_MAX - 3 || strlen(name->text) != name->size) {
			return wrong_value("provider_name", "at most 65532 bytes without a NUL",
					   name, err);
		}
		etw_payload_clear(&lines->traits);
		etw_payload_u16(&lines->traits, (uint16_t)(3 + name->size));
		etw_payload_astring(&lines->traits, name->text);
		add_item(lines, record, ETW_EXTENDED_PROVIDER_TRAITS, &lines->traits);
	}
	if (has_layout) {
		add_item(lines, record, ETW_EXTENDED_TRACELOGGING, &lines->metadata);
	}
	return true;
}

bool event_lines_read(struct event_lines *lines, const char *line, size_t size,
		      struct etw_out_record *record, struct etw_error *err)
{
	const struct etw_json_value *root = json_read(&lines->document, line, size, err);
	struct etw_out_record made = { .payload = NULL };

	if (!root) {
		return false;
	}
	if (root->type != JSON_OBJECT) {
		return error_set(err, ETW_ERROR_FORMAT, "expected an object, found %s",
				 json_type_name(root->type));
	}
	if (!check_keys(root, err) || !read_provider(lines, root, err) ||
	    !read_type(lines, root, &made, err) || !read_numbers(root, &made, err) ||
	    !read_time(lines, root, &made, err) || !find_group(lines, &made, err)) {
		return false;
	}
	if (made.type == ETW_RECORD_EVENT && etw_kernel_class_name(&lines->provider)) {
		made.flags = EVENT_IS_CLASSIC;
	}
	if (!make_payload(lines, root, &made, err) || !add_items(lines, root, &made, err)) {
		return false;
	}
	made.provider = &lines->provider;
	made.payload = lines->payload.bytes;
	made.payload_size = lines->payload.size;
	if (lines->payload.failed || lines->metadata.failed || lines->traits.failed) {
		return error_no_memory(err, "a record");
	}
	if (etw_out_record_size(&made) > UINT16_MAX) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "the record would be longer than 65535 bytes");
	}
	*record = made;
	return true;
}

/* ---- files ---- */

bool event_lines_each(struct event_lines *lines, const char *path,
		      bool (*each)(void *context, const struct etw_out_record *record,
				   struct etw_error *err),
		      void *context, struct etw_error *err)
{
	char *bytes = NULL;
	size_t size = 0, at = 0;
	unsigned long number = 0;
	bool done = true;

	if (!file_read_whole(path, FILE_SIZE_MOST, &bytes, &size, err)) {
		return error_prefix(err, "%s", path);
	}
	while (done && at < size) {
		const char *end = memchr(bytes + at, '\n', size - at);
		size_t length = end ? (size_t)(end - (bytes + at)) : size - at;
		struct etw_out_record record;

		number++;
		if (length > 0 && !(length == 1 && bytes[at] == '\r')) {
			done = (event_lines_read(lines, bytes + at, length, &record, err) &&
				each(context, &record, err)) ||
			       error_prefix(err, "%s:%lu", path, number);
		}
		at += length + 1;
	}
	free(bytes);
	return done;
}
