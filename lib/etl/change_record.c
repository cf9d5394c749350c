/* SPDX-License-Identifier: MIT */
/*
 * Changes the bytes of one record: fields of its header, its payload, its extended items. The
 * offsets are from docs/etl-format.md section 4.
 */
#include <etw/mirror.h>

#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"

/* ---- fields of headers ---- */

/* Groups of header types whose fields have the same offsets here. */
enum header { HEADER_KERNEL, HEADER_PERFINFO, HEADER_EVENT, HEADER_FULL, HEADERS };

struct field_place {
	uint8_t offset;
	uint8_t size; /* bytes; 0: the header has no such field */
};

struct etw_header_field {
	const char *name;
	struct field_place places[HEADERS];
};

/* The version word of kernel records has other bits above its low byte. */
static const struct etw_header_field fields[] = {
	{ "provider", { [HEADER_EVENT] = { 0x18, 16 }, [HEADER_FULL] = { 0x18, 16 } } },
	{ "id", { [HEADER_EVENT] = { 0x28, 2 } } },
	{ "version",
	  { [HEADER_KERNEL] = { 0, 1 },
	    [HEADER_PERFINFO] = { 0, 1 },
	    [HEADER_EVENT] = { 0x2a, 1 },
	    [HEADER_FULL] = { 0x06, 1 } } },
	{ "opcode",
	  { [HEADER_KERNEL] = { 6, 1 },
	    [HEADER_PERFINFO] = { 6, 1 },
	    [HEADER_EVENT] = { 0x2d, 1 },
	    [HEADER_FULL] = { 0x04, 1 } } },
	{ "level", { [HEADER_EVENT] = { 0x2c, 1 }, [HEADER_FULL] = { 0x05, 1 } } },
	{ "task", { [HEADER_EVENT] = { 0x2e, 2 } } },
	{ "keyword", { [HEADER_EVENT] = { 0x30, 8 } } },
	{ "pid",
	  { [HEADER_KERNEL] = { 12, 4 },
	    [HEADER_EVENT] = { 0x0c, 4 },
	    [HEADER_FULL] = { 0x0c, 4 } } },
	{ "tid",
	  { [HEADER_KERNEL] = { 8, 4 },
	    [HEADER_EVENT] = { 0x08, 4 },
	    [HEADER_FULL] = { 0x08, 4 } } },
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

const struct etw_header_field *etw_header_field_find(const char *name)
{
	for (size_t i = 0; i < FIELDS; i++) {
		if (strcmp(fields[i].name, name) == 0) {
			return &fields[i];
		}
	}
	return NULL;
}

bool etw_header_field_is_guid(const struct etw_header_field *field)
{
	return field->places[HEADER_EVENT].size == sizeof(struct etw_guid);
}

static struct field_place place_of(const struct etw_header_field *field, enum etw_record_type type)
{
	switch (type) {
	case ETW_RECORD_SYSTEM:
	case ETW_RECORD_COMPACT:
		return field->places[HEADER_KERNEL];
	case ETW_RECORD_PERFINFO:
		return field->places[HEADER_PERFINFO];
	case ETW_RECORD_EVENT:
	case ETW_RECORD_STRING:
		return field->places[HEADER_EVENT];
	case ETW_RECORD_FULL:
	case ETW_RECORD_INSTANCE:
		return field->places[HEADER_FULL];
	default:
		return (struct field_place){ .size = 0 };
	}
}

uint64_t etw_header_field_most(const struct etw_header_field *field, enum etw_record_type type)
{
	unsigned size = place_of(field, type).size;

	return size == 0 ? 0 : size >= 8 ? UINT64_MAX : UINT64_MAX >> (64 - 8 * size);
}

void etw_header_field_set(const struct etw_header_field *field, enum etw_record_type type,
			  uint64_t value, uint8_t *bytes)
{
	struct field_place place = place_of(field, type);

	for (unsigned i = 0; i < place.size; i++) {
		bytes[place.offset + i] = (uint8_t)(value >> 8 * i);
	}
}

void etw_header_field_set_guid(const struct etw_header_field *field, enum etw_record_type type,
			       const struct etw_guid *guid, uint8_t *bytes)
{
	memcpy(bytes + place_of(field, type).offset, guid->bytes, sizeof guid->bytes);
}

/* ---- the payload ---- */

bool etw_payload_is_whole(const struct etw_record *record, const uint8_t *bytes, size_t size)
{
	/* An empty payload points to a static place, so its address cannot be compared. */
	uintptr_t at = (uintptr_t)record->payload, start = (uintptr_t)bytes;

	return at >= start && at - start <= size && size - (at - start) == record->payload_size;
}

/* Kernel records have their version first and their size second (docs/etl-format.md section 4). */
static size_t size_offset(const struct etw_record *record)
{
	switch (record->type) {
	case ETW_RECORD_SYSTEM:
	case ETW_RECORD_COMPACT:
	case ETW_RECORD_PERFINFO:
		return 4;
	default:
		return 0;
	}
}

size_t etw_replace_payload(const struct etw_record *record, const uint8_t *bytes, size_t size,
			   const void *payload, size_t payload_size, uint8_t *out)
{
	size_t header;

	if (!etw_payload_is_whole(record, bytes, size)) {
		return 0;
	}
	header = size - record->payload_size;
	if (payload_size > ETW_RECORD_SIZE_MOST - header) {
		return 0;
	}
	memcpy(out, bytes, header);
	if (payload_size > 0) {
		memcpy(out + header, payload, payload_size);
	}
	store_u16(out + size_offset(record), (uint16_t)(header + payload_size));
	return header + payload_size;
}

/* ---- extended items ---- */

enum {
	EVENT_HEADER_SIZE = 80,
	FLAGS_AT = 4,
	FLAG_EXTENDED = 0x0001,
	LINKAGE_AT = 4,
	LINKAGE_MORE = 1
};

size_t etw_strip_items(const struct etw_record *record, const uint8_t *bytes, size_t size,
		       uint32_t types, uint8_t *out)
{
	struct etw_extended_item item;
	uint8_t *last = NULL; /* last item in the copy */
	size_t used = EVENT_HEADER_SIZE;
	uint32_t offset = 0, begin = 0;
	bool any = false;

	if (!record->extended ||
	    EVENT_HEADER_SIZE + record->extended_size + record->payload_size != size) {
		return 0;
	}
	while (etw_record_next_extended(record, &offset, &item)) {
		any |= item.type < 32 && (types >> item.type & 1);
	}
	if (!any) {
		return 0;
	}
	memcpy(out, bytes, EVENT_HEADER_SIZE);
	for (offset = 0; etw_record_next_extended(record, &offset, &item); begin = offset) {
		if (item.type < 32 && (types >> item.type & 1)) {
			continue;
		}
		last = out + used;
		memcpy(last, record->extended + begin, offset - begin);
		store_u16(last + LINKAGE_AT, etw_load_u16(last + LINKAGE_AT) | LINKAGE_MORE);
		used += offset - begin;
	}
	if (last) {
		store_u16(last + LINKAGE_AT,
			  etw_load_u16(last + LINKAGE_AT) & (uint16_t)~LINKAGE_MORE);
	} else {
		store_u16(out + FLAGS_AT, etw_load_u16(out + FLAGS_AT) & (uint16_t)~FLAG_EXTENDED);
	}
	memcpy(out + used, record->payload, record->payload_size);
	used += record->payload_size;
	store_u16(out, (uint16_t)used);
	return used;
}
