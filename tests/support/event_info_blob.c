/* SPDX-License-Identifier: MIT */
#include "tests/support/event_info_blob.h"

#include <string.h>

enum { HEADER_SIZE = 112, PROPERTY_SIZE = 24, MAP_HEADER_SIZE = 16, MAP_ENTRY_SIZE = 8 };

/* Bytes that a string takes; 0: absent. Names here are ASCII. */
static size_t string_size(const char *string)
{
	return string ? 2 * (strlen(string) + 1) : 0;
}

/* The offset of a string, which moves behind it. */
static void add_offset(struct etw_payload *payload, const char *string, size_t *at)
{
	etw_payload_u32(payload, string ? (uint32_t)*at : 0);
	*at += string_size(string);
}

/* Names of maps come after all other strings. */
static uint32_t map_offset(const struct event_info_blob *blob, size_t property)
{
	size_t at = HEADER_SIZE + PROPERTY_SIZE * blob->property_count +
		    string_size(blob->provider_name) + string_size(blob->task) +
		    string_size(blob->opcode_name);

	if (!blob->maps || !blob->maps[property]) {
		return 0;
	}
	for (size_t i = 0; i < blob->property_count; i++) {
		at += string_size(blob->properties[i].name);
	}
	for (size_t i = 0; i < property; i++) {
		at += string_size(blob->maps[i]);
	}
	return (uint32_t)at;
}

void payload_event_info(struct etw_payload *payload, const struct event_info_blob *blob)
{
	static const struct etw_guid no_class;
	size_t at = HEADER_SIZE + PROPERTY_SIZE * blob->property_count;
	const char *const strings[] = { blob->provider_name, blob->task, blob->opcode_name };

	etw_payload_guid(payload, blob->provider);
	etw_payload_guid(payload, blob->event_class ? blob->event_class : &no_class);
	etw_payload_u16(payload, blob->id);
	etw_payload_u8(payload, blob->version);
	etw_payload_u8(payload, 0); /* channel */
	etw_payload_u8(payload, 4); /* level */
	etw_payload_u8(payload, blob->opcode);
	etw_payload_u16(payload, 0); /* task */
	etw_payload_u64(payload, 0); /* keyword */
	etw_payload_u32(payload, blob->source);
	add_offset(payload, blob->provider_name, &at);
	etw_payload_zeros(payload, 4 + 4 + 4); /* names of level, channel, keywords */
	add_offset(payload, blob->task, &at);
	add_offset(payload, blob->opcode_name, &at);
	etw_payload_zeros(payload,
			  4 + 4 + 4 + 4 + 4 + 4); /* messages, XML, names of activity ids */
	etw_payload_u32(payload, (uint32_t)blob->property_count);
	etw_payload_u32(payload, (uint32_t)blob->top_level_count);
	etw_payload_u32(payload, 0); /* flags */
	for (size_t i = 0; i < blob->property_count; i++) {
		const struct blob_property *property = &blob->properties[i];

		etw_payload_u32(payload, property->flags);
		add_offset(payload, property->name, &at);
		etw_payload_u16(payload, property->in);
		etw_payload_u16(payload, property->out);
		etw_payload_u32(payload, map_offset(blob, i));
		etw_payload_u16(payload, property->count);
		etw_payload_u16(payload, property->length);
		etw_payload_u32(payload, 0);
	}
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
		if (strings[i]) {
			etw_payload_wstring(payload, strings[i]);
		}
	}
	for (size_t i = 0; i < blob->property_count; i++) {
		if (blob->properties[i].name) {
			etw_payload_wstring(payload, blob->properties[i].name);
		}
	}
	for (size_t i = 0; blob->maps && i < blob->property_count; i++) {
		if (blob->maps[i]) {
			etw_payload_wstring(payload, blob->maps[i]);
		}
	}
}

void payload_event_map(struct etw_payload *payload, const struct event_map_blob *blob)
{
	size_t at = MAP_HEADER_SIZE + MAP_ENTRY_SIZE * blob->entry_count;

	etw_payload_guid(payload, blob->provider);
	add_offset(payload, blob->name, &at);
	etw_payload_u32(payload, blob->bits ? 2 : 1);
	etw_payload_u32(payload, (uint32_t)blob->entry_count);
	etw_payload_u32(payload, 0); /* values are u32 */
	for (size_t i = 0; i < blob->entry_count; i++) {
		add_offset(payload, blob->entries[i].name, &at);
		etw_payload_u32(payload, blob->entries[i].value);
	}
	etw_payload_wstring(payload, blob->name);
	for (size_t i = 0; i < blob->entry_count; i++) {
		etw_payload_wstring(payload, blob->entries[i].name);
	}
}
