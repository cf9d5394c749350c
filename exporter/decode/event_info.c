/* SPDX-License-Identifier: MIT */
/*
 * EventInfo and EventMapInfo records.
 */
#include "decode/event_info.h"

#include <string.h>

#include "base/cursor.h"
#include "decode/utf16.h"

enum {
	EVENT_INFO_HEADER_SIZE = 112,
	PROPERTY_SIZE = 24,
	MAP_HEADER_SIZE = 16,
	MAP_ENTRY_SIZE = 8,
};

bool record_is_meta_data(const struct event_record *record)
{
	static const struct guid class_guid = META_DATA_CLASS;

	return record->classic && guid_equal(record->provider, &class_guid);
}

static struct guid take_guid(struct cursor *c)
{
	struct guid guid = { { 0 } };
	const uint8_t *at = cursor_take(c, sizeof guid.bytes);

	if (at) {
		memcpy(guid.bytes, at, sizeof guid.bytes);
	}
	return guid;
}

bool event_info_read(const struct event_record *record, struct event_info *info)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);
	struct event_info read = { .bytes = record->payload, .size = record->payload_size };

	if (!record_is_meta_data(record) || record->opcode != META_DATA_EVENT_INFO) {
		return false;
	}
	read.provider = take_guid(&c);
	read.event_class = take_guid(&c);
	read.id = cursor_u16(&c);
	read.version = cursor_u8(&c);
	cursor_skip(&c, 1 + 1); /* channel, level */
	read.opcode = cursor_u8(&c);
	cursor_skip(&c, 2 + 8); /* task, keyword */
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

bool event_map_read(const struct event_record *record, struct event_map *map)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);
	struct event_map read = { 0 };

	if (!record_is_meta_data(record) || record->opcode != META_DATA_EVENT_MAP_INFO) {
		return false;
	}
	read.provider = take_guid(&c);
	read.bytes = c.at;
	read.size = (uint32_t)cursor_left(&c);
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

void event_info_property(const struct event_info *info, uint32_t index,
			 struct event_property *property)
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

void event_map_entry(const struct event_map *map, uint32_t index, struct event_map_entry *entry)
{
	size_t offset = MAP_HEADER_SIZE + (size_t)MAP_ENTRY_SIZE * index;
	struct cursor c = cursor_over(map->bytes + offset, MAP_ENTRY_SIZE);

	entry->name = cursor_u32(&c);
	entry->value = cursor_u32(&c);
}

bool event_info_string(const uint8_t *bytes, uint32_t size, uint32_t offset, struct text *out)
{
	size_t units;

	if (offset == 0 || offset >= size) {
		return false;
	}
	bytes += offset;
	units = utf16_length(bytes, (size - offset) / 2);
	while (units > 0 && load_u16(bytes + 2 * (units - 1)) == ' ') {
		units--;
	}
	text_add_utf16(out, bytes, units);
	return true;
}
