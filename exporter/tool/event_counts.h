/* SPDX-License-Identifier: MIT */
/*
 * How many records of each kind of event a recording has: per (provider, id, version, opcode,
 * level).
 */
#ifndef TOOL_EVENT_COUNTS_H
#define TOOL_EVENT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"
#include "base/map.h"
#include "source/event_record.h"

enum { EVENT_COUNTS_MAX = 1 << 20 };

struct event_count {
	struct guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
	uint32_t next; /* while counting: index + 1 of another one with the same hash */
	uint64_t records;
};

/* Zero-initialise it. */
struct event_counts {
	struct event_count *rows; /* owned */
	size_t count;
	size_t capacity;
	struct map by_hash; /* hash of the first five -> index + 1 */
	uint64_t refused;   /* records beyond EVENT_COUNTS_MAX rows, or without memory */
};

void event_counts_add(struct event_counts *counts, const struct event_record *record);
/*
 * Sorts the rows by provider (as text), id, version, opcode and level. Nothing can be added
 * afterwards.
 */
void event_counts_sort(struct event_counts *counts);
void event_counts_done(struct event_counts *counts);

#endif
