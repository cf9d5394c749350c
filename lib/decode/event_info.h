/* SPDX-License-Identifier: MIT */
/*
 * Views of EventInfo and EventMapInfo records. They describe events and the names of values; the
 * tools that merge recordings add them.
 *
 * The structures are TRACE_EVENT_INFO and EVENT_MAP_INFO in their memory layout. A view borrows the
 * bytes and points into them. Every offset is checked when it is used.
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
 * Makes the fields of a description, in payload order. The members of a structure are a range of
 * properties. The fields end before a property that is not understood or that was already used.
 * Returns false if there is no memory.
 *
 * map_names may be NULL; otherwise it has ETW_SCHEMA_FIELDS_MOST elements. For each field it
 * receives the offset of the name of the field's value map, or 0 if the field has none. The caller
 * sets the maps of the fields.
 */
bool event_info_fields(const struct etw_event_info *info, struct built_fields *fields,
		       uint32_t *map_names);

/* A schema that was made from a description. */
struct described_schema {
	struct etw_schema schema;
	struct built_fields fields; /* owned */
	char *event;                /* owned */
};

/* Makes a schema with the fields of event_info_fields(). Returns false and leaves *made unchanged
 * if there is no memory. described_schema_done() frees *made. */
bool event_info_schema(const struct etw_event_info *info, struct described_schema *made,
		       uint32_t *map_names);
void described_schema_done(struct described_schema *made);

/* Adds "Task/Opcode" to out, or only the one of the two names that exists. Without either it adds
 * the id, or the opcode for a MOF class. */
void event_info_name(const struct etw_event_info *info, struct etw_text *out);

/* Returns whether the UTF-16 string at this offset has its NUL within the bytes. The offset must be
 * a multiple of 2. */
bool event_info_string_ends(const uint8_t *bytes, uint32_t size, uint32_t offset);

#endif
