/* SPDX-License-Identifier: MIT */
/*
 * Writes descriptions of events (TRACE_EVENT_INFO) as a merge adds them to a recording.
 */
#ifndef SUPPORT_EVENT_INFO_BLOB_H
#define SUPPORT_EVENT_INFO_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"
#include "tests/support/payload.h"

enum blob_flags {
	BLOB_STRUCT = 0x1, /* in: index of its first member, out: how many */
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
	const struct guid *provider;
	const struct guid *event_class; /* NULL: all zero */
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint32_t source;                                /* enum event_info_source */
	const char *provider_name, *task, *opcode_name; /* NULL: none */
	const struct blob_property *properties;
	size_t property_count;
	size_t top_level_count;
};

void payload_event_info(struct payload *payload, const struct event_info_blob *blob);

#endif
