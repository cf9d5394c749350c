/* SPDX-License-Identifier: MIT */
/*
 * EventInfo and EventMapInfo records: descriptions of events inside a recording.
 *
 * When a recording is merged, Windows adds the result of TdhGetEventInformation() for its events,
 * so that another machine can decode them. The same structures come from TDH itself on a live
 * system (tdh_win32.c); therefore the functions take bytes and not only records.
 *
 * A description is a header, an array of properties and a block of strings. All of them refer to
 * each other by offsets or indices, which may be wrong. A property that is a structure names a
 * range of other properties as its members. Ranges could overlap or contain themselves, which would
 * make exponentially many fields, so each property is used only once. Counts and lengths can refer
 * to another property; only one that already became a field is accepted.
 *
 * A value map can have many entries that share one long name, so the total size of the names is
 * bounded.
 */
#include "lib/decode/event_info.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/memory.h"
#include "lib/decode/schema.h"
#include "lib/decode/tdh_types.h"

enum {
	EVENT_INFO_HEADER_SIZE = 112,
	PROPERTY_SIZE = 24,
	MAP_HEADER_SIZE = 16,
	MAP_ENTRY_SIZE = 8,

	/* a record cannot contain more */
	PROPERTIES_MOST = UINT16_MAX / PROPERTY_SIZE,
};

/* EVENT_PROPERTY_INFO.Flags of tdh.h. */
enum {
	PROPERTY_STRUCT = 0x1,
	PROPERTY_LENGTH_FIELD = 0x2,
	PROPERTY_COUNT_FIELD = 0x4,
	PROPERTY_FIXED_COUNT = 0x20,
};

bool etw_record_is_meta_data(const struct etw_record *record)
{
	static const struct etw_guid class_guid = ETW_META_DATA_CLASS;

	return record->classic && etw_guid_equal(record->provider, &class_guid);
}

static struct etw_guid take_guid(struct cursor *c)
{
	struct etw_guid guid = { { 0 } };
	const uint8_t *at = cursor_take(c, sizeof guid.bytes);

	if (at) {
		memcpy(guid.bytes, at, sizeof guid.bytes);
	}
	return guid;
}

bool etw_event_info_view(const uint8_t *bytes, uint32_t size, struct etw_event_info *info)
{
	struct cursor c = cursor_over(bytes, size);
	struct etw_event_info read = { .bytes = bytes, .size = size };

	read.provider = take_guid(&c);
	read.event_class = take_guid(&c);
	read.id = cursor_u16(&c);
	read.version = cursor_u8(&c);
	cursor_skip(&c, 1); /* channel */
	read.level = cursor_u8(&c);
	read.opcode = cursor_u8(&c);
	read.task = cursor_u16(&c);
	read.keywords = cursor_u64(&c);
	read.source = cursor_u32(&c);
	read.provider_name = cursor_u32(&c);
	cursor_skip(&c, 4 + 4 + 4); /* names of level, channel, keywords */
	read.task_name = cursor_u32(&c);
	read.opcode_name = cursor_u32(&c);
	cursor_skip(&c, 4 + 4 + 4 + 4 + 4 + 4); /* messages, binary XML, names of activity ids */
	read.property_count = cursor_u32(&c);
	read.top_level_count = cursor_u32(&c);
	cursor_skip(&c, 4); /* flags */
	if (c.overrun || read.property_count > cursor_left(&c) / PROPERTY_SIZE) {
		return false;
	}
	*info = read;
	return true;
}

bool etw_event_info_read(const struct etw_record *record, struct etw_event_info *info)
{
	return etw_record_is_meta_data(record) && record->opcode == META_DATA_EVENT_INFO &&
	       etw_event_info_view(record->payload, record->payload_size, info);
}

bool etw_event_map_view(const struct etw_guid *provider, const uint8_t *bytes, uint32_t size,
			struct etw_event_map *map)
{
	struct cursor c = cursor_over(bytes, size);
	struct etw_event_map read = { .provider = *provider, .bytes = bytes, .size = size };

	read.name = cursor_u32(&c);
	read.flag = cursor_u32(&c);
	read.entry_count = cursor_u32(&c);
	cursor_skip(&c, 4); /* value type */
	if (c.overrun || read.entry_count > cursor_left(&c) / MAP_ENTRY_SIZE) {
		return false;
	}
	*map = read;
	return true;
}

bool etw_event_map_read(const struct etw_record *record, struct etw_event_map *map)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);
	struct etw_guid provider;

	if (!etw_record_is_meta_data(record) || record->opcode != META_DATA_EVENT_MAP_INFO) {
		return false;
	}
	provider = take_guid(&c);
	return !c.overrun && etw_event_map_view(&provider, c.at, (uint32_t)cursor_left(&c), map);
}

void etw_event_info_property(const struct etw_event_info *info, uint32_t index,
			     struct etw_event_property *property)
{
	size_t offset = EVENT_INFO_HEADER_SIZE + (size_t)PROPERTY_SIZE * index;
	struct cursor c = cursor_over(info->bytes + offset, PROPERTY_SIZE);

	property->flags = cursor_u32(&c);
	property->name = cursor_u32(&c);
	property->in_type = cursor_u16(&c);
	property->out_type = cursor_u16(&c);
	property->map_name = cursor_u32(&c);
	property->count = cursor_u16(&c);
	property->length = cursor_u16(&c);
}

void etw_event_map_entry(const struct etw_event_map *map, uint32_t index,
			 struct etw_event_map_entry *entry)
{
	size_t offset = MAP_HEADER_SIZE + (size_t)MAP_ENTRY_SIZE * index;
	struct cursor c = cursor_over(map->bytes + offset, MAP_ENTRY_SIZE);

	entry->name = cursor_u32(&c);
	entry->value = cursor_u32(&c);
}

bool etw_event_info_string(const uint8_t *bytes, uint32_t size, uint32_t offset,
			   struct etw_text *out)
{
	size_t units;

	if (offset == 0 || offset >= size) {
		return false;
	}
	bytes += offset;
	units = utf16_length(bytes, (size - offset) / 2);
	while (units > 0 && etw_load_u16(bytes + 2 * (units - 1)) == ' ') {
		units--;
	}
	text_add_utf16(out, bytes, units);
	return true;
}

bool event_info_string_ends(const uint8_t *bytes, uint32_t size, uint32_t offset)
{
	for (size_t at = offset; offset % 2 == 0 && at + 2 <= size; at += 2) {
		if (etw_load_u16(bytes + at) == 0) {
			return true;
		}
	}
	return false;
}

/* ---- maps ---- */

enum {
	MAP_VALUES = 1, /* EVENT_MAP_INFO.Flag of tdh.h */
	MAP_BITS = 2,
	MAP_TEXT_MOST = 1 << 18, /* bytes of all names; entries beyond it get no name */
};

struct etw_value_map *etw_event_map_make(const struct etw_event_map *map)
{
	size_t names_size = map->entry_count * sizeof(struct etw_value_name);
	struct etw_value_map *made = NULL;
	struct etw_text text = { 0 };
	size_t name_at;
	bool named;

	if (map->flag != MAP_VALUES && map->flag != MAP_BITS) {
		return NULL;
	}
	for (uint32_t i = 0; i < map->entry_count; i++) {
		struct etw_event_map_entry entry;

		etw_event_map_entry(map, i, &entry);
		if (text.size < MAP_TEXT_MOST) {
			etw_event_info_string(map->bytes, map->size, entry.name, &text);
		}
		text_add_char(&text, '\0');
	}
	name_at = text.size;
	named = etw_event_info_string(map->bytes, map->size, map->name, &text);
	text_add_char(&text, '\0');
	if (!text.failed) {
		made = malloc(sizeof *made + names_size + text.size);
		if (!made) {
			memory_note_loss();
		}
	}
	if (made) {
		char *at = (char *)(made + 1) + names_size;

		*made = (struct etw_value_map){ .names = (struct etw_value_name *)(made + 1),
						.name = named ? at + name_at : NULL,
						.bits = map->flag == MAP_BITS };
		memcpy(at, text.data, text.size);
		for (uint32_t i = 0; i < map->entry_count; i++, at += strlen(at) + 1) {
			struct etw_event_map_entry entry;

			etw_event_map_entry(map, i, &entry);
			if (*at) {
				made->names[made->count++] =
					(struct etw_value_name){ .value = entry.value, .name = at };
			}
		}
		value_map_sort(made);
	}
	text_free(&text);
	return made;
}

/* ---- schemas ---- */

/* The state of a conversion from properties to fields. */
struct expansion {
	const struct etw_event_info *info;
	struct schema_builder builder;
	struct etw_text name;
	uint32_t *map_names;             /* one for each field; NULL: not needed */
	int16_t fields[PROPERTIES_MOST]; /* index of the field of each property; -1: none yet */
};

/* Returns the index of a property's field, for a property that refers to it; -1 if it has no field
 * yet. */
static int field_of(const struct expansion *expansion, unsigned property)
{
	return property < expansion->info->property_count ? expansion->fields[property] : -1;
}

static void set_count(const struct expansion *expansion, const struct etw_event_property *property,
		      struct etw_field *field)
{
	int counter;

	if ((property->flags & PROPERTY_COUNT_FIELD) != 0) {
		counter = field_of(expansion, property->count);
		if (counter >= 0) {
			field->count_type = ETW_FIELD_COUNT_FIELD;
			field->count = (uint16_t)counter;
		}
	} else if ((property->flags & PROPERTY_FIXED_COUNT) != 0 || property->count > 1) {
		field->count_type = ETW_FIELD_COUNT_FIXED;
		field->count = property->count;
	}
}

static void set_length(const struct expansion *expansion, const struct etw_event_property *property,
		       struct etw_field *field)
{
	int source;

	if ((property->flags & PROPERTY_LENGTH_FIELD) != 0) {
		source = field_of(expansion, property->length);
		if (source >= 0) {
			field->length_type = ETW_FIELD_LENGTH_FIELD;
			field->length = (uint16_t)source;
		}
	} else if (property->length != 0 && field->length_type == ETW_FIELD_LENGTH_TYPE) {
		/* Types of fixed size repeat their size here; fields_place() resets it for them. */
		field->length_type = ETW_FIELD_LENGTH_FIXED;
		field->length = property->length;
	}
	tdh_field_finish(field, property->out_type);
}

/* Only integers have value maps; structures use this member otherwise. */
static uint32_t map_name(const struct etw_event_property *property, const struct etw_field *field)
{
	return field->type <= ETW_FIELD_PORT ? property->map_name : 0;
}

/* Adds a range of properties. Returns false if the fields end here. */
static bool add_properties(struct expansion *expansion, uint32_t first, uint32_t count)
{
	const struct etw_event_info *info = expansion->info;
	struct schema_builder *builder = &expansion->builder;

	for (uint32_t i = first; i - first < count; i++) {
		struct etw_event_property property;
		struct etw_field field = { .count_type = ETW_FIELD_SCALAR };
		int index;

		/* Use each property once: overlapping ranges would make exponentially many
		 * fields. */
		if (i >= info->property_count || expansion->fields[i] >= 0) {
			return false;
		}
		etw_event_info_property(info, i, &property);
		set_count(expansion, &property, &field);
		if ((property.flags & PROPERTY_STRUCT) != 0) {
			field.type = ETW_FIELD_STRUCT;
		} else if (tdh_field_type(&field, property.in_type, property.out_type)) {
			set_length(expansion, &property, &field);
		} else {
			return false;
		}
		text_clear(&expansion->name);
		etw_event_info_string(info->bytes, info->size, property.name, &expansion->name);
		builder->failed |= expansion->name.failed;
		index = schema_build_add(builder, &field,
					 expansion->name.data ? expansion->name.data : "",
					 expansion->name.size);
		if (index < 0) {
			return false;
		}
		expansion->fields[i] = (int16_t)index;
		if (expansion->map_names) {
			expansion->map_names[index] = map_name(&property, &field);
		}
		if (field.type == ETW_FIELD_STRUCT) {
			/* For a structure, in_type is the index of the first member and out_type
			 * the number of members. */
			if (!add_properties(expansion, property.in_type, property.out_type)) {
				return false;
			}
			schema_build_close(builder);
		}
	}
	return true;
}

bool event_info_fields(const struct etw_event_info *info, struct built_fields *fields,
		       uint32_t *map_names)
{
	struct expansion expansion = { .info = info, .map_names = map_names };
	bool built;

	for (size_t i = 0; i < PROPERTIES_MOST; i++) {
		expansion.fields[i] = -1;
	}
	if (info->property_count <= PROPERTIES_MOST &&
	    !add_properties(&expansion, 0, info->top_level_count)) {
		schema_build_stop(&expansion.builder);
	}
	built = schema_build_finish(&expansion.builder, fields);
	text_free(&expansion.name);
	return built;
}

void event_info_name(const struct etw_event_info *info, struct etw_text *out)
{
	size_t before = out->size, slash;

	etw_event_info_string(info->bytes, info->size, info->task_name, out);
	slash = out->size;
	if (slash > before) {
		text_add_char(out, '/');
	}
	if (!etw_event_info_string(info->bytes, info->size, info->opcode_name, out) &&
	    slash > before && !out->failed) {
		out->size = slash; /* without an opcode, remove the slash */
		out->data[slash] = '\0';
	}
	if (out->size == before) {
		text_add_u64(out, info->source == ETW_EVENT_INFO_MOF ? info->opcode : info->id);
	}
}

bool event_info_schema(const struct etw_event_info *info, struct described_schema *made,
		       uint32_t *map_names)
{
	struct described_schema schema = { .event = NULL };
	struct etw_text event = { 0 };

	event_info_name(info, &event);
	if (event.failed || !event_info_fields(info, &schema.fields, map_names)) {
		text_free(&event);
		return false;
	}
	schema.event = event.data;
	schema.schema = (struct etw_schema){
		.event = event.data,
		.fields = schema.fields.fields,
		.field_count = schema.fields.count,
		.first_variable = schema.fields.first_variable,
		.origin = ETW_SCHEMA_EVENT_INFO,
	};
	*made = schema;
	return true;
}

void described_schema_done(struct described_schema *made)
{
	free(made->fields.fields);
	free(made->event);
	*made = (struct described_schema){ .event = NULL };
}
