/* SPDX-License-Identifier: MIT */

#include <string.h>

#include <etw/mirror.h>

/* Groups of header types whose fields have the same offsets here. */
enum header { HEADER_KERNEL, HEADER_PERFINFO, HEADER_EVENT, HEADER_FULL, HEADERS };

struct place {
	uint8_t offset;
	uint8_t size; /* bytes; 0: the header has no such field */
};

struct etw_header_field {
	const char *name;
	struct place places[HEADERS];
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

static struct place place_of(const struct etw_header_field *field, enum etw_record_type type)
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
		return (struct place){ .size = 0 };
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
	struct place place = place_of(field, type);

	for (unsigned i = 0; i < place.size; i++) {
		bytes[place.offset + i] = (uint8_t)(value >> 8 * i);
	}
}

void etw_header_field_set_guid(const struct etw_header_field *field, enum etw_record_type type,
			       const struct etw_guid *guid, uint8_t *bytes)
{
	memcpy(bytes + place_of(field, type).offset, guid->bytes, sizeof guid->bytes);
}
