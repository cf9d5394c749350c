/* SPDX-License-Identifier: MIT */
/*
 * Writes descriptions of events (TRACE_EVENT_INFO) and of the names of values (EVENT_MAP_INFO) as a
 * merge adds them to a recording.
 */
#ifndef SUPPORT_EVENT_INFO_BLOB_H
#define SUPPORT_EVENT_INFO_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "base/guid.h"

enum blob_flags {
	BLOB_STRUCT = 0x1, /* `in` is the index of its first member, `out` their number */
	BLOB_LENGTH_BY = 0x2,
	BLOB_COUNT_BY = 0x4,
	BLOB_FIXED_LENGTH = 0x10,
	BLOB_FIXED_COUNT = 0x20,
};

struct blob_property {
	const char *name;
	uint32_t flags;
	uint16_t in, out;
	uint16_t count, length; /* numbers, or indexes of properties */
};

struct event_info_blob {
	const struct etw_guid *provider;
	const struct etw_guid *event_class; /* NULL: all zero */
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint32_t source;                                /* enum etw_event_info_source */
	const char *provider_name, *task, *opcode_name; /* NULL: none */
	const struct blob_property *properties;
	size_t property_count;
	size_t top_level_count;
	const char *const *maps; /* for each property the name of its map, or NULL; NULL: no
				    property has a map */
};

void payload_event_info(struct etw_payload *payload, const struct event_info_blob *blob);

/* A map, which gives names to values (EVENT_MAP_INFO). */
struct event_map_blob {
	const struct etw_guid *provider;
	const char *name;
	bool bits;
	const struct blob_map_entry {
		uint32_t value;
		const char *name;
	} * entries;
	size_t entry_count;
};

void payload_event_map(struct etw_payload *payload, const struct event_map_blob *blob);

#endif
