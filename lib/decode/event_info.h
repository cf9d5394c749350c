/* SPDX-License-Identifier: MIT */
/*
 * Views of EventInfo and EventMapInfo records. They describe events and the names of values; the
 * tools that merge recordings add them.
 *
 * The structures are TRACE_EVENT_INFO and EVENT_MAP_INFO in their memory layout. Views point into
 * the bytes. Every offset is checked when it is used.
 *
 * Sources: "TRACE_EVENT_INFO structure", "EVENT_MAP_INFO structure", Microsoft Learn;
 * docs/etl-format.md section 12.
 */
#ifndef LIB_DECODE_EVENT_INFO_H
#define LIB_DECODE_EVENT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

/* The event class of such records, and its opcodes. */
#define ETW_META_DATA_CLASS \
	ETW_GUID_INIT(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71)
enum { META_DATA_EVENT_INFO = 32, META_DATA_EVENT_MAP_INFO = 33 };

enum etw_event_info_source {
	ETW_EVENT_INFO_MANIFEST,
	ETW_EVENT_INFO_MOF,
	ETW_EVENT_INFO_WPP,
	ETW_EVENT_INFO_TRACELOGGING
};

struct etw_event_info {
	const uint8_t *bytes; /* borrowed */
	uint32_t size;
	struct etw_guid provider;
	struct etw_guid event_class;
	uint16_t id;
	uint8_t version;
	uint8_t level;
	uint8_t opcode;
	uint16_t task;
	uint64_t keywords;
	uint32_t source; /* enum etw_event_info_source */
	/* Offsets of strings; 0: absent. */
	uint32_t provider_name;
	uint32_t task_name;
	uint32_t opcode_name;
	uint32_t property_count; /* all, with members of structures; the bytes contain each */
	uint32_t top_level_count;
};

struct etw_event_property {
	uint32_t flags;
	uint32_t name;
	uint16_t in_type;
	uint16_t out_type;
	uint32_t map_name;
	uint16_t count;
	uint16_t length;
};

struct etw_event_map {
	const uint8_t *bytes; /* after the GUID of the provider; borrowed */
	uint32_t size;
	struct etw_guid provider;
	uint32_t name;
	uint32_t flag;        /* 1: values, 2: bits; others are not supported */
	uint32_t entry_count; /* the bytes contain each */
};

struct etw_event_map_entry {
	uint32_t name;
	uint32_t value;
};

bool etw_record_is_meta_data(const struct etw_record *record);

/* Makes a view of a TRACE_EVENT_INFO or an EVENT_MAP_INFO; false if it is not complete. */
bool etw_event_info_view(const uint8_t *bytes, uint32_t size, struct etw_event_info *info);
bool etw_event_map_view(const struct etw_guid *provider, const uint8_t *bytes, uint32_t size,
			struct etw_event_map *map);

/* Makes a view of a record; false if it is another record or not complete. */
bool etw_event_info_read(const struct etw_record *record, struct etw_event_info *info);
bool etw_event_map_read(const struct etw_record *record, struct etw_event_map *map);

/* index: below the count of the view. */
void etw_event_info_property(const struct etw_event_info *info, uint32_t index,
			     struct etw_event_property *property);
void etw_event_map_entry(const struct etw_event_map *map, uint32_t index,
			 struct etw_event_map_entry *entry);

/*
 * Makes the fields of a description, in payload order; the members of a structure are a range of
 * properties. The fields end before a property that is not understood or that was already used.
 * False without memory.
 *
 * map_names, if not NULL, has room for ETW_SCHEMA_FIELDS_MOST. For each field it receives the
 * offset of the name of its value map; 0: none. The caller sets the map of the fields.
 */
bool event_info_fields(const struct etw_event_info *info, struct built_fields *fields,
		       uint32_t *map_names);

/*
 * Makes a value map, in one block with its names: free(). NULL without memory, or if the flag of
 * the map is not supported.
 */
struct etw_value_map *etw_event_map_make(const struct etw_event_map *map);

/* A schema that was made from a description. */
struct described_schema {
	struct etw_schema schema;
	struct built_fields fields; /* owned */
	char *event;                /* owned */
};

/* Makes a schema, like event_info_fields(). False without memory, and then *made is not set. */
bool event_info_schema(const struct etw_event_info *info, struct described_schema *made,
		       uint32_t *map_names);
void described_schema_done(struct described_schema *made);

/* Adds "Task/Opcode", or the one of both that exists; without both the id, or the opcode for MOF.
 */
void event_info_name(const struct etw_event_info *info, struct etw_text *out);

/*
 * Adds the string at an offset of the bytes as UTF-8, without trailing spaces. False if the offset
 * is 0 or outside.
 */
bool etw_event_info_string(const uint8_t *bytes, uint32_t size, uint32_t offset,
			   struct etw_text *out);

/* Whether the string at an offset, which is a multiple of 2, ends within the bytes with a NUL. */
bool event_info_string_ends(const uint8_t *bytes, uint32_t size, uint32_t offset);

#endif
