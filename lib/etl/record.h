/* SPDX-License-Identifier: MIT */
/*
 * Walks the records of a buffer: a record with any header type becomes a struct etw_record.
 *
 * A record is read when the walk reaches it and is stored in the walk until the next step, so that
 * a merge can compare the times of next records and deliver them without reading them twice.
 *
 * Source: Geoff Chappell, "Trace Headers" and pages below it; docs/etl-format.md sections 3, 4
 * and 9.
 */
#ifndef LIB_ETL_RECORD_H
#define LIB_ETL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/etl/chosen.h"
#include "lib/source/event_record.h"
#include "lib/source/source.h"

enum {
	ETW_BUFFER_HEADER_SIZE = 0x48, /* in front of the records of a buffer */
	ETW_RECORD_SIZE_MIN = 8,       /* bytes, of any header type */
	ETW_BUFFER_MAX = 16 << 20, /* valid bytes of a buffer, unpacked; a larger one is corrupt */
	ETW_HEADER_TYPES = 0x16,   /* header types that are known, and some that are not */
};

/* What all records of a recording share. Fill it with etl_format_init(); immutable afterwards. */
struct etw_format {
	struct etw_source_clock clock;
	/* of the recorded kernel, 4 or 8: for records without their own */
	uint8_t pointer_size;
	/* 4 or 8: used for all classic payloads; 0: as in the record */
	uint8_t classic_pointer_size;
	/*
	 * Up to so many ticks after the anchor, a short calculation is exact; see
	 * etl_format_time().
	 */
	uint64_t short_ticks;
	uint64_t plain_ticks; /* the same, and a tick is 100 ns; 0: it is not */
	double time_per_tick; /* 100 ns */
	/* By header type, the parts of class_key that all of its records share; the rest is 0. */
	uint64_t class_keys[ETW_HEADER_TYPES];
	/* Records that walks pass over, by their index; borrowed. NULL: none. */
	const struct chosen *passed_over;
};

void etl_format_init(struct etw_format *format, const struct etw_source_clock *clock,
		     uint8_t pointer_size, uint8_t classic_pointer_size);

/* etw_clock_time() of the format's clock, without its divisions. */
int64_t etl_format_time(const struct etw_format *format, int64_t raw);

struct etl_walk {
	struct etw_record record; /* that the last step reached */
	/* Of other kernel records than these, only raw_time and index are read. Borrowed, set after
	 * the start. NULL: all are read completely. */
	const struct etw_kernel_choice *only;
	/* Likewise, of events with an EVENT_HEADER that are not classic and have no extended items.
	 */
	const struct etw_id_choice *only_ids;
	const struct etw_format *format;
	const uint8_t *bytes;  /* of the buffer, its header included; borrowed */
	uint32_t at;           /* offset of the next record in bytes */
	uint32_t record_size;  /* of the record before it, its header included, without padding */
	uint32_t end;          /* offset where the valid bytes end */
	const char *stopped;   /* why the rest of the buffer was dropped; NULL: it was not */
	uint32_t stopped_at;   /* offset of the record that stopped the walk */
	uint32_t bad_items;    /* records whose payload was dropped with bad extended items */
	uint32_t bad_items_at; /* offset of the last such record */
	struct etw_guid component; /* provider of a record that only has a component number */
};

/*
 * Starts before the first record. bytes and format must outlive the walk. end is the size of bytes,
 * at most ETW_BUFFER_MAX; index that of the buffer's first record in its file.
 */
void etl_walk_start(struct etl_walk *walk, const struct etw_format *format, const uint8_t *bytes,
		    uint32_t end, uint16_t processor, uint64_t index);

/*
 * Steps to the next record. Returns false after the last one, or if the next bytes are no valid
 * record (then `stopped` is the reason).
 */
bool etl_walk_next(struct etl_walk *walk);

/* What a walk notes about the records that it reaches. */
struct etw_times {
	uint64_t records;
	int64_t first_time; /* raw; the lowest. INT64_MAX before the first record */
	int64_t last_time;  /* raw. INT64_MIN before the first record */
	bool unordered;     /* times go backwards */
};

/* Steps to the next record that is not left out, and notes all that it reaches on the way. */
bool etl_walk_survey(struct etl_walk *walk, struct etw_times *times);

/* The index in the file of the record after those that were reached. */
static inline uint64_t etl_walk_next_index(const struct etl_walk *walk)
{
	return walk->record.index + 1;
}

/* The offset in bytes of the record that the last step reached. */
static inline uint32_t etl_walk_record_at(const struct etl_walk *walk)
{
	return walk->at - ((walk->record_size + 7) & ~7U);
}

/*
 * Goes to the record at an offset that an earlier walk over the same bytes has reached. Returns
 * false, with `stopped` set, if there is none. index is that of the record in its file.
 */
bool etl_walk_seek(struct etl_walk *walk, uint32_t at, uint64_t index);

#endif
