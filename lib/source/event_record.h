/* SPDX-License-Identifier: MIT */
/*
 * One event of any source: the contents of a record header in a recording, or of an EVENT_RECORD in
 * a live session.
 *
 * The source owns the record, its payload and its extended items. They are valid only during the
 * call of the sink; the sink copies what it keeps.
 */
#ifndef LIB_SOURCE_EVENT_RECORD_H
#define LIB_SOURCE_EVENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"

/*
 * Families of record headers (docs/etl-format.md section 3). Live events are ETW_RECORD_EVENT or
 * RECORD_STRING, classic ones ETW_RECORD_FULL.
 */
enum etw_record_type {
	ETW_RECORD_SYSTEM,
	ETW_RECORD_COMPACT,
	ETW_RECORD_PERFINFO,
	ETW_RECORD_EVENT,
	ETW_RECORD_FULL,
	ETW_RECORD_INSTANCE,
	RECORD_STRING,      /* a ETW_RECORD_EVENT whose payload is one UTF-16 text (section 4.5) */
	ETW_RECORD_MESSAGE, /* WPP */
	ETW_RECORD_TIMED, /* this and the following: only the header type is known, skipped by size
			   */
	ETW_RECORD_ERROR,
	ETW_RECORD_WNODE,
	ETW_RECORD_MESSAGE_TYPED,
	ETW_RECORD_UNKNOWN, /* an undocumented header type; skipped by the size at offset 0 */
	ETW_RECORD_TYPE_COUNT
};

/* The name of the header of a type in lower case, as in the summaries ("system"). */
const char *etw_record_type_name(enum etw_record_type type);

/* The mark of Windows for a missing id in a header; also used if a record has no such field. */
#define ETW_RECORD_NO_ID UINT32_MAX

/* The kernel group of a record that has none. */
enum { ETW_RECORD_NO_GROUP = 0xff };

/* The time of a record without a time (a WPP message); it sorts before all other times. */
#define ETW_RECORD_NO_TIME INT64_MIN

struct etw_record {
	/*
	 * The provider or the event class. Points into a table of the program or into the record;
	 * never NULL.
	 */
	const struct etw_guid *provider;
	const uint8_t *payload; /* borrowed; never NULL, even when payload_size is 0 */
	/* What distinguishes the event classes of a provider. */
	union {
		struct {
			/* event id; 0 for classic and kernel events, the number of a message */
			uint16_t id;
			uint8_t version;
			uint8_t opcode;
			uint8_t pointer_size; /* 4 or 8: of this record's payload */
			uint8_t type;         /* enum etw_record_type */
			/* the provider GUID names an event class, and the opcode identifies the
			 * event in it (MOF) */
			bool classic;
			/* of SYSTEM, COMPACT, PERFINFO: the group (docs/etl-format.md section 8);
			 * else ETW_RECORD_NO_GROUP */
			uint8_t kernel_group;
		};
		uint64_t class_key; /* all of these as one number, to compare */
	};
	uint32_t payload_size;
	uint32_t extended_size; /* bytes of all extended items */
	uint32_t thread_id;     /* of the header; ETW_RECORD_NO_ID if it has none */
	uint32_t process_id;    /* likewise */
	uint16_t processor;
	uint16_t task;
	uint8_t channel;
	uint8_t level;
	int64_t raw_time; /* ticks of the clock of the source, or ETW_RECORD_NO_TIME */
	int64_t time;     /* 100 ns since 1601-01-01 UTC; ETW_RECORD_NO_TIME if raw_time is */
	uint64_t keyword;
	const struct etw_guid *activity; /* 16 bytes in the record; NULL if its header has none */
	/* the first extended item as on disk (section 9), already checked; NULL: none */
	const uint8_t *extended;
	/* number of the record in its file, from 0, in file order; live: a running number */
	uint64_t index;
};

/*
 * The class_key of a record with these members. A source writes it at once where it is read soon
 * after: a processor waits before it reads a number of which it has just written the parts.
 */
static inline uint64_t record_class_key(uint16_t id, uint8_t version, uint8_t opcode,
					uint8_t pointer_size, enum etw_record_type type,
					bool classic, uint8_t kernel_group)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint64_t)id << 48 | (uint64_t)version << 40 | (uint64_t)opcode << 32 |
	       (uint64_t)pointer_size << 24 | (uint64_t)type << 16 | (uint64_t)classic << 8 |
	       kernel_group;
#else
	return (uint64_t)kernel_group << 56 | (uint64_t)classic << 48 | (uint64_t)type << 40 |
	       (uint64_t)pointer_size << 32 | (uint64_t)opcode << 24 | (uint64_t)version << 16 | id;
#endif
}

/* Some events, by id: bit id % 8 of byte id / 8. */
struct etw_id_choice {
	uint8_t ids[(UINT16_MAX + 1) / 8];
};

static inline void etw_id_choose(struct etw_id_choice *choice, uint16_t id)
{
	choice->ids[id / 8] |= (uint8_t)(1U << id % 8);
}

static inline bool id_chosen(const struct etw_id_choice *choice, uint16_t id)
{
	return choice->ids[id / 8] >> id % 8 & 1;
}

/* Extended item types (EVENT_HEADER_EXT_TYPE_*). */
enum etw_extended_type {
	ETW_EXTENDED_RELATED_ACTIVITY = 1,
	ETW_EXTENDED_SID = 2,
	ETW_EXTENDED_SESSION_ID = 3,
	ETW_EXTENDED_STACK32 = 5,
	ETW_EXTENDED_STACK64 = 6,
	ETW_EXTENDED_EVENT_KEY = 10,
	ETW_EXTENDED_TRACELOGGING = 11,
	ETW_EXTENDED_PROVIDER_TRAITS = 12,
	ETW_EXTENDED_PROCESS_START_KEY = 13,
	ETW_EXTENDED_CONTAINER_ID = 16,
};

struct etw_extended_item {
	uint16_t type;
	uint16_t size; /* of data, bytes */
	const uint8_t *data;
};

/*
 * Walks the extended items: start with *offset = 0; returns false after the last item. The items
 * were checked when the record was read.
 */
bool etw_record_next_extended(const struct etw_record *record, uint32_t *offset,
			      struct etw_extended_item *item);

/* Finds the first item of a type; false if there is none. */
bool etw_record_find_extended(const struct etw_record *record, enum etw_extended_type type,
			      struct etw_extended_item *item);

#endif
