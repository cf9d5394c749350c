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

#include <etw/schema.h>

#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

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

/* Whether the string at an offset, which is a multiple of 2, ends within the bytes with a NUL. */
bool event_info_string_ends(const uint8_t *bytes, uint32_t size, uint32_t offset);

#endif
