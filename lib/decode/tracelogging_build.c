/* SPDX-License-Identifier: MIT */

#include <string.h>

#include <etw/describe.h>
#include <etw/mirror.h>

#include "base/cursor.h"
#include "base/json.h"
#include "lib/decode/schema.h"

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
	CHAINED = 0x80, /* an out-type follows; for a structure the number of members */
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
