/* SPDX-License-Identifier: MIT */
/*
 * Views of EventInfo and EventMapInfo records: descriptions of events and of value names, which
 * merging a recording adds to it.
 *
 * The structures are TRACE_EVENT_INFO and EVENT_MAP_INFO as they stand in memory. Views point into
 * the bytes; every offset in them is checked when it is followed.
 *
 * Sources: "TRACE_EVENT_INFO structure", "EVENT_MAP_INFO structure", Microsoft Learn;
 * docs/etl-format.md section 12.
 */
#ifndef DECODE_EVENT_INFO_H
#define DECODE_EVENT_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"
#include "base/text.h"
#include "decode/schema_build.h"
#include "decode/value_map.h"
#include "source/event_record.h"

/* The class of such records, and its opcodes. */
#define META_DATA_CLASS \
	GUID_INIT(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71)
enum { META_DATA_EVENT_INFO = 32, META_DATA_EVENT_MAP_INFO = 33 };

enum event_info_source {
	EVENT_INFO_MANIFEST,
	EVENT_INFO_MOF,
	EVENT_INFO_WPP,
	EVENT_INFO_TRACELOGGING
};

struct event_info {
	const uint8_t *bytes; /* borrowed */
	uint32_t size;
	struct guid provider;
	struct guid event_class;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint32_t source; /* enum event_info_source */
	/* Offsets of strings; 0: absent. */
	uint32_t provider_name;
	uint32_t task_name;
	uint32_t opcode_name;
	uint32_t property_count; /* all, members of structs included; each is there */
	uint32_t top_level_count;
};

struct event_property {
	uint32_t flags;
	uint32_t name;
	uint16_t in_type;
	uint16_t out_type;
	uint32_t map_name;
	uint16_t count;
	uint16_t length;
};

struct event_map {
	const uint8_t *bytes; /* behind the provider's GUID; borrowed */
	uint32_t size;
	struct guid provider;
	uint32_t name;
	uint32_t flag;        /* 1 values, 2 bits; others are not understood */
	uint32_t entry_count; /* each is there */
};

struct event_map_entry {
	uint32_t name;
	uint32_t value;
};

bool record_is_meta_data(const struct event_record *record);

/* Views of a TRACE_EVENT_INFO and an EVENT_MAP_INFO; false: not whole. */
bool event_info_view(const uint8_t *bytes, uint32_t size, struct event_info *info);
bool event_map_view(const struct guid *provider, const uint8_t *bytes, uint32_t size,
		    struct event_map *map);

/* Whether a record is one, and whole. */
bool event_info_read(const struct event_record *record, struct event_info *info);
bool event_map_read(const struct event_record *record, struct event_map *map);

/* index below the count of the view. */
void event_info_property(const struct event_info *info, uint32_t index,
			 struct event_property *property);
void event_map_entry(const struct event_map *map, uint32_t index, struct event_map_entry *entry);

/*
 * Makes the fields that a description tells, in payload order: members of structures are ranges of
 * its properties. They stop where a property is not understood, or one that was seen before comes
 * again. False without memory.
 *
 * map_names, if not NULL, has room for SCHEMA_FIELDS_MOST and gets the offset of the name of each
 * field's map, 0 for none; the fields' own map is the caller's to set.
 */
bool event_info_fields(const struct event_info *info, struct built_fields *fields,
		       uint32_t *map_names);

/*
 * The names that a map gives, in one block with them: free(). NULL without memory, and for a kind
 * of map that is not understood.
 */
struct value_map *event_map_make(const struct event_map *map);

/* A schema made of a description. */
struct described_schema {
	struct schema schema;
	struct built_fields fields; /* owned */
	char *event;                /* owned */
};

/* As event_info_fields(); false without memory, then nothing is owned. */
bool event_info_schema(const struct event_info *info, struct described_schema *made,
		       uint32_t *map_names);
void described_schema_done(struct described_schema *made);

/* Adds "Task/Opcode", or what there is of it; failing both the id (of MOF events the opcode). */
void event_info_name(const struct event_info *info, struct text *out);

/*
 * Adds the string at an offset of the bytes as UTF-8, trailing blanks left off. False: offset 0 or
 * outside.
 */
bool event_info_string(const uint8_t *bytes, uint32_t size, uint32_t offset, struct text *out);

#endif
