/* SPDX-License-Identifier: MIT */
/*
 * Makes schemas from the metadata of TraceLogging events.
 *
 * A TraceLogging event has no id. Its own name and layout are in an extended item: the names
 * and types of all fields, packed as bytes with flags for arrays and for further bytes. Equal
 * metadata means the same event class. A program repeats the same metadata with every event, so the
 * metadata is parsed once and the schema is cached by the content of the metadata.
 *
 * Every process can emit such events, so the metadata may be hostile. The cache is bounded in
 * entries and in bytes, hashes have a seed, so that no program can choose metadata with equal
 * hashes, and entries are compared with the full metadata. Invalid metadata also gets an entry,
 * without a schema, so that it is parsed only once.
 *
 * The type numbers are those of TraceLoggingProvider.h. They differ from those of manifests
 * (tdh_types.c), but out-types have the same effect in both. A type that is not known ends the
 * schema, since the fields after it cannot be located. A field of a custom serializer is bytes with
 * a count; in place of a type it has the number of its protocol.
 */
#include <etw/mirror.h>

#include "lib/decode/event_schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "lib/decode/schema.h"
#include "lib/decode/tdh_types.h"

enum {
	SCHEMAS_MOST = 1 << 14,
	BYTES_MOST = 64 << 20,
};

/* TlgIn_t and TlgOut_t of TraceLoggingProvider.h. */
enum {
	IN_TYPE_MASK = 0x1f,
	IN_ARRAY_MASK = 0x60,
	IN_ARRAY_FIXED = 0x20,
	IN_ARRAY_COUNTED = 0x40,
	IN_CUSTOM = 0x60, /* TraceLoggingCustom() */
	CHAINED = 0x80,   /* an out-type follows; for a structure the number of members */
};

struct cached_schema {
	struct etw_schema schema;
	struct built_fields fields; /* owned */
	char *event;                /* owned; NULL: the metadata is invalid */
	uint32_t size;
	uint32_t next; /* index + 1 of the next entry with the same hash; 0: none */
	uint8_t metadata[];
};

struct etw_tracelogging_cache {
	struct cached_schema **entries; /* owned, with the entries */
	size_t count, capacity;
	size_t bytes;       /* approximate memory in bytes */
	struct map by_hash; /* hash of metadata -> index + 1 of the latest entry */
	uint64_t seed;      /* seed of the hashes, so that nothing can choose collisions */
};

bool etw_tracelogging_metadata(const struct etw_record *record, struct etw_extended_item *metadata)
{
	return record->extended && !record->classic && record->type == ETW_RECORD_EVENT &&
	       etw_record_find_extended(record, ETW_EXTENDED_TRACELOGGING, metadata);
}

uint64_t tracelogging_hash(const struct etw_record *record, uint64_t seed)
{
	struct etw_extended_item metadata;

	if (!etw_tracelogging_metadata(record, &metadata)) {
		return 0;
	}
	return text_hash((const char *)metadata.data, metadata.size, seed) | 1;
}

/* ---- types ---- */

/* Sets the type of the field. Returns false if the in-type is not known. */
static bool set_in_type(struct etw_field *field, unsigned in_type)
{
	static const uint8_t types[] = {
		ETW_FIELD_NULL,    ETW_FIELD_WSTRING,  ETW_FIELD_ASTRING,    ETW_FIELD_I8,
		ETW_FIELD_U8,      ETW_FIELD_I16,      ETW_FIELD_U16,        ETW_FIELD_I32,
		ETW_FIELD_U32,     ETW_FIELD_I64,      ETW_FIELD_U64,        ETW_FIELD_FLOAT,
		ETW_FIELD_DOUBLE,  ETW_FIELD_BOOL32,   ETW_FIELD_BINARY16,   ETW_FIELD_GUID,
		ETW_FIELD_POINTER, ETW_FIELD_FILETIME, ETW_FIELD_SYSTEMTIME, ETW_FIELD_SID,
		ETW_FIELD_U32,     ETW_FIELD_U64,      ETW_FIELD_WCOUNTED,   ETW_FIELD_ACOUNTED,
		ETW_FIELD_STRUCT,  ETW_FIELD_BINARY16,
	};

	if (in_type >= sizeof types) {
		return false;
	}
	field->type = types[in_type];
	return true;
}

/* Converts an out-type number of TraceLogging; most numbers change nothing. */
static enum tdh_out_type out_type_of(unsigned out)
{
	static const uint32_t types[] = {
		[2] = TDH_OUT_STRING,  [3] = TDH_OUT_BOOLEAN,   [7] = TDH_OUT_PORT,
		[8] = TDH_OUT_IP4,     [9] = TDH_OUT_IP6,       [10] = TDH_OUT_SOCKADDR,
		[11] = TDH_OUT_XML,    [12] = TDH_OUT_JSON,     [16] = TDH_OUT_FILETIME,
		[17] = TDH_OUT_SIGNED, [18] = TDH_OUT_UNSIGNED, [35] = TDH_OUT_UTF8,
	};

	return out < sizeof types / sizeof types[0] ? (enum tdh_out_type)types[out] :
						      TDH_OUT_DEFAULT;
}

/* ---- metadata ---- */

/* Reads a string and its NUL. If there is no NUL, it returns NULL and sets overrun. */
static const char *take_string(struct cursor *c, size_t *size)
{
	size_t left = cursor_left(c);
	const uint8_t *at = c->at;
	const uint8_t *nul = left > 0 ? memchr(at, 0, left) : NULL;

	if (!nul) {
		cursor_skip(c, left + 1);
		return NULL;
	}
	*size = (size_t)(nul - at);
	cursor_skip(c, *size + 1);
	return (const char *)at;
}

/* Skips bytes up to and including the first one without the CHAINED flag. */
static void skip_chain(struct cursor *c)
{
	while ((cursor_u8(c) & CHAINED) != 0) {
	}
}

/* Adds at most `most` fields; the members of structures are not counted. */
static void add_fields(struct cursor *c, struct schema_builder *builder, unsigned most)
{
	for (unsigned i = 0; i < most && cursor_left(c) > 0; i++) {
		struct etw_field field = { .count_type = ETW_FIELD_SCALAR };
		size_t name_size = 0;
		const char *name = take_string(c, &name_size);
		unsigned in = cursor_u8(c), out = 0;
		bool known = set_in_type(&field, in & IN_TYPE_MASK);

		if ((in & CHAINED) != 0) {
			out = cursor_u8(c);
			if ((out & CHAINED) != 0) {
				skip_chain(c);
			}
		}
		out &= (unsigned)CHAINED - 1;
		switch (in & IN_ARRAY_MASK) {
		case 0:
			break;
		case IN_ARRAY_FIXED:
			field.count_type = ETW_FIELD_COUNT_FIXED;
			field.count = cursor_u16(c);
			break;
		case IN_ARRAY_COUNTED:
			field.count_type = ETW_FIELD_COUNT_PREFIX;
			break;
		case IN_CUSTOM:
			field.type = ETW_FIELD_BINARY16;
			known = true;
			cursor_skip(c, cursor_u16(c)); /* information about the custom protocol */
			out = 0;
			break;
		}
		if (c->overrun || !known) {
			schema_build_stop(builder);
			return;
		}
		if (field.type != ETW_FIELD_STRUCT) {
			tdh_apply_out(&field, out_type_of(out));
		}
		if (schema_build_add(builder, &field, name, name_size) < 0) {
			return;
		}
		if (field.type == ETW_FIELD_STRUCT) {
			add_fields(c, builder, out);
			schema_build_close(builder);
		}
		if (builder->stopped || builder->failed) {
			return;
		}
	}
}

/* Fills in the entry from its metadata. Returns false if there is no memory. Invalid metadata gives
 * an entry without event and schema. */
static bool read_metadata(struct cached_schema *entry)
{
	struct cursor c = cursor_over(entry->metadata, entry->size);
	size_t total = cursor_u16(&c), name_size = 0;
	struct schema_builder builder = { .count = 0 };
	struct etw_text event = { 0 };
	const char *name;

	if (c.overrun) {
		return true;
	}
	if (total < entry->size) {
		c.end = entry->metadata + (total > 2 ? total : 2);
	}
	skip_chain(&c);
	name = take_string(&c, &name_size);
	if (!name) {
		return true;
	}
	add_fields(&c, &builder, ETW_SCHEMA_FIELDS_MOST + 1);
	text_add_utf8_clean(&event, name, name_size);
	text_add_char(&event, '\0');
	if (!schema_build_finish(&builder, &entry->fields) || event.failed) {
		text_free(&event);
		return false;
	}
	entry->event = event.data;
	entry->schema = (struct etw_schema){ .event = entry->event,
					     .fields = entry->fields.fields,
					     .field_count = entry->fields.count,
					     .first_variable = entry->fields.first_variable,
					     .origin = ETW_SCHEMA_TRACELOGGING };
	return true;
}

/* ---- the cache ---- */

static void free_entry(struct cached_schema *entry)
{
	if (entry) {
		free(entry->fields.fields);
		free(entry->event);
		free(entry);
	}
}

static struct cached_schema *new_entry(const struct etw_extended_item *metadata)
{
	struct cached_schema *entry = calloc(1, sizeof *entry + metadata->size);

	if (!entry) {
		memory_note_loss();
		return NULL;
	}
	entry->size = metadata->size;
	memcpy(entry->metadata, metadata->data, metadata->size);
	if (!read_metadata(entry)) {
		free_entry(entry);
		return NULL;
	}
	return entry;
}

static bool make_room(struct etw_tracelogging_cache *cache)
{
	struct cached_schema **entries = array_grow(cache->entries, &cache->capacity, cache->count,
						    sizeof(struct cached_schema *));

	if (!entries) {
		return false;
	}
	cache->entries = entries;
	return true;
}

static const struct etw_schema *schema_of(const struct cached_schema *entry)
{
	return entry->event ? &entry->schema : NULL;
}

struct etw_tracelogging_cache *etw_tracelogging_cache_new(struct etw_error *err)
{
	struct etw_tracelogging_cache *cache = calloc(1, sizeof *cache);

	if (!cache) {
		error_no_memory(err, "the schemas of events");
		return NULL;
	}
	cache->seed = hash_seed();
	return cache;
}

void etw_tracelogging_cache_clear(struct etw_tracelogging_cache *cache)
{
	for (size_t i = 0; i < cache->count; i++) {
		free_entry(cache->entries[i]);
	}
	map_done(&cache->by_hash);
	cache->count = 0;
	cache->bytes = 0;
}

void etw_tracelogging_cache_free(struct etw_tracelogging_cache *cache)
{
	if (cache) {
		etw_tracelogging_cache_clear(cache);
		free(cache->entries);
		free(cache);
	}
}

bool etw_tracelogging_cache_full(const struct etw_tracelogging_cache *cache)
{
	return cache->count >= SCHEMAS_MOST || cache->bytes >= BYTES_MOST;
}

const struct etw_schema *etw_tracelogging_schema(struct etw_tracelogging_cache *cache,
						 const struct etw_extended_item *metadata)
{
	uint64_t hash = text_hash((const char *)metadata->data, metadata->size, cache->seed);
	const uint64_t *known = map_find(&cache->by_hash, hash);
	struct cached_schema *entry;
	uint64_t *first;

	for (uint64_t at = known ? *known : 0; at != 0; at = entry->next) {
		entry = cache->entries[at - 1];
		if (entry->size == metadata->size &&
		    memcmp(entry->metadata, metadata->data, metadata->size) == 0) {
			return schema_of(entry);
		}
	}
	if (etw_tracelogging_cache_full(cache) || !make_room(cache)) {
		return NULL;
	}
	entry = new_entry(metadata);
	first = entry ? map_put(&cache->by_hash, hash, NULL) : NULL;
	if (!first) {
		free_entry(entry);
		return NULL;
	}
	entry->next = (uint32_t)*first;
	cache->entries[cache->count++] = entry;
	*first = cache->count;
	cache->bytes += sizeof *entry + metadata->size + entry->fields.bytes;
	return schema_of(entry);
}

/* ---- building metadata ---- */

/* TlgIn_t of TraceLoggingProvider.h. */
enum in_type {
	IN_NULL = 0,
	IN_WSTRING = 1,
	IN_I64 = 9,
	IN_U64 = 10,
	IN_DOUBLE = 12,
	IN_BOOL32 = 13,
	IN_COUNTED_WSTRING = 22,
	IN_STRUCT = 24,
	IN_COUNTED_ARRAY = 0x40,
};

enum { MEMBERS_MOST = 127, DEPTH_MOST = 16 };

/* Returns the type of a JSON number by its spelling. */
static enum in_type number_type(const struct etw_json_value *value)
{
	if (strpbrk(value->text, ".eE")) {
		return IN_DOUBLE;
	}
	return value->text[0] == '-' ? IN_I64 : IN_U64;
}

static enum in_type type_of(const struct etw_json_value *value)
{
	switch (value->type) {
	case JSON_TRUE:
	case JSON_FALSE:
		return IN_BOOL32;
	case JSON_NUMBER:
		return number_type(value);
	case JSON_TEXT:
		return strlen(value->text) == value->size ? IN_WSTRING : IN_COUNTED_WSTRING;
	case JSON_OBJECT:
		return IN_STRUCT;
	case JSON_NULL:
	case JSON_ARRAY:
		break;
	}
	return IN_NULL;
}

/* Returns the type that holds all elements: the widest for numbers, the counted one for texts. */
static enum in_type element_type(const struct etw_json_value *list)
{
	enum in_type type = list->first ? type_of(list->first) : IN_U64;

	for (const struct etw_json_value *item = list->first; item; item = item->next) {
		enum in_type other = type_of(item);

		if (other == IN_DOUBLE || (other == IN_I64 && type == IN_U64)) {
			type = other;
		}
	}
	return type == IN_WSTRING ? IN_COUNTED_WSTRING : type;
}

struct layout {
	struct etw_payload *metadata;
	unsigned fields; /* fields so far, including structures and their members */
};

static bool add_members(const struct etw_json_value *object, unsigned depth, struct layout *layout,
			struct etw_error *err);

static bool add_field(const struct etw_json_value *value, unsigned depth, struct layout *layout,
		      struct etw_error *err)
{
	struct etw_payload *metadata = layout->metadata;
	bool list = value->type == JSON_ARRAY;
	const struct etw_json_value *one = list ? value->first : value;
	enum in_type type = list ? element_type(value) : type_of(value);

	if (list && one && one->type == JSON_ARRAY) {
		return error_set(err, ETW_ERROR_FORMAT, "a list of lists has no type");
	}
	if (layout->fields++ == ETW_SCHEMA_FIELDS_MOST) {
		return error_set(err, ETW_ERROR_LIMIT, "an event has at most %d fields",
				 (int)ETW_SCHEMA_FIELDS_MOST);
	}
	etw_payload_astring(metadata, value->key);
	etw_payload_u8(metadata, (uint8_t)(type | (list ? IN_COUNTED_ARRAY : 0) |
					   (type == IN_STRUCT ? CHAINED : 0)));
	if (type != IN_STRUCT) {
		return true;
	}
	if (one->count > MEMBERS_MOST || depth == DEPTH_MOST) {
		return error_set(err, ETW_ERROR_FORMAT,
				 "a structure has at most 127 members and 16 levels");
	}
	etw_payload_u8(metadata, (uint8_t)one->count);
	return add_members(one, depth + 1, layout, err);
}

static bool add_members(const struct etw_json_value *object, unsigned depth, struct layout *layout,
			struct etw_error *err)
{
	for (const struct etw_json_value *value = object->first; value; value = value->next) {
		if (!add_field(value, depth, layout, err)) {
			return error_prefix(err, "%.100s", value->key);
		}
	}
	return true;
}

bool etw_tracelogging_build(const struct etw_json_value *event, const struct etw_json_value *fields,
			    struct etw_payload *metadata, struct etw_error *err)
{
	struct layout layout = { .metadata = metadata };
	size_t start = metadata->size;

	etw_payload_u16(metadata, 0); /* placeholder for the size, which is set below */
	etw_payload_u8(metadata, 0);  /* no tags */
	if (strlen(event->text) != event->size) {
		return error_set(err, ETW_ERROR_FORMAT, "a name cannot contain a NUL");
	}
	etw_payload_astring(metadata, event->text);
	if (!add_members(fields, 0, &layout, err)) {
		return false;
	}
	if (metadata->failed) {
		return error_no_memory(err, "the layout of an event");
	}
	if (metadata->size - start > UINT16_MAX) {
		return error_set(err, ETW_ERROR_FORMAT, "the names of its fields are too long");
	}
	store_u16(metadata->bytes + start, (uint16_t)(metadata->size - start));
	return true;
}
