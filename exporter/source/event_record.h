/* SPDX-License-Identifier: MIT */
/*
 * One event, whichever source it came from: what a recording's record header says and what
 * EVENT_RECORD says live.
 *
 * A source fills one and lends it to the sink for the length of a call: the record, its payload and
 * its extended items are the source's. Copy what must stay.
 */
#ifndef SOURCE_EVENT_RECORD_H
#define SOURCE_EVENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"

/*
 * Families of record headers (docs/etl-format.md section 3). Live events are RECORD_EVENT, classic
 * ones RECORD_FULL.
 */
enum record_type {
	RECORD_SYSTEM,
	RECORD_COMPACT,
	RECORD_PERFINFO,
	RECORD_EVENT,
	RECORD_FULL,
	RECORD_INSTANCE,
	RECORD_MESSAGE, /* WPP */
	RECORD_TIMED,   /* from here on: skipped by size, nothing but the header type is known */
	RECORD_ERROR,
	RECORD_WNODE,
	RECORD_MESSAGE_TYPED,
	RECORD_UNKNOWN, /* a header type that nobody documents; skipped by the size at 0 */
	RECORD_TYPE_COUNT
};

/* Lower case name of a kind as in the summaries ("system"). */
const char *record_type_name(enum record_type type);

/* Windows' marks for "no such id" in headers; also what a record without the field carries. */
#define RECORD_NO_ID UINT32_MAX

/* Time of a record that has none (a WPP message): sorts before everything else. */
#define RECORD_NO_TIME INT64_MIN

struct event_record {
	/*
	 * Who: provider or event class. Points into a table of the program or into the record;
	 * never NULL.
	 */
	const struct guid *provider;
	const uint8_t *payload; /* borrowed; never NULL, even when payload_size is 0 */
	uint32_t payload_size;
	uint32_t process_id; /* of the header; RECORD_NO_ID when it has none */
	uint32_t thread_id;  /* likewise */
	/* event id; 0 for classic and kernel events, the number of a message */
	uint16_t id;
	uint16_t task;
	uint16_t processor;
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
	uint8_t channel;
	uint8_t pointer_size; /* 4 or 8: of this record's payload */
	uint8_t type;         /* enum record_type */
	/* the provider GUID names an event class and the opcode tells the events apart (MOF) */
	bool classic;
	/* of SYSTEM, COMPACT, PERFINFO: the group (docs/etl-format.md section 8); else 0xff */
	uint8_t kernel_group;
	int64_t raw_time; /* ticks of the source's clock, or RECORD_NO_TIME */
	int64_t time;     /* 100 ns since 1601-01-01 UTC; RECORD_NO_TIME when raw_time is */
	uint64_t keyword;
	const struct guid *activity; /* 16 bytes in the record, NULL when its header has none */
	/* first extended item as it stands on disk (section 9), checked; NULL: none */
	const uint8_t *extended;
	uint32_t extended_size; /* bytes of all items */
	/* of the record in its file, from 0, in file order; live: running number */
	uint64_t index;
};

/* Extended item types (EVENT_HEADER_EXT_TYPE_*). */
enum extended_type {
	EXTENDED_RELATED_ACTIVITY = 1,
	EXTENDED_SID = 2,
	EXTENDED_SESSION_ID = 3,
	EXTENDED_STACK32 = 5,
	EXTENDED_STACK64 = 6,
	EXTENDED_EVENT_KEY = 10,
	EXTENDED_TRACELOGGING = 11,
	EXTENDED_PROVIDER_TRAITS = 12,
	EXTENDED_PROCESS_START_KEY = 13,
	EXTENDED_CONTAINER_ID = 16,
};

struct extended_item {
	uint16_t type;
	uint16_t size; /* of data, bytes */
	const uint8_t *data;
};

/*
 * Walks the extended items: start with *offset = 0; returns false behind the last one. Items were
 * checked when the record was read, so there is nothing to fail.
 */
bool record_next_extended(const struct event_record *record, uint32_t *offset,
			  struct extended_item *item);

/* The first item of a type; false when there is none. */
bool record_find_extended(const struct event_record *record, enum extended_type type,
			  struct extended_item *item);

#endif
