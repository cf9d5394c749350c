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

#include <etw/source.h>

#include "base/array.h"
#include "lib/source/event_record.h"

enum {
	ETL_BUFFER_HEADER_SIZE = 0x48, /* bytes before the records of a buffer */
	ETL_RECORD_SIZE_MIN = 8,       /* bytes of the smallest record */
	ETL_BUFFER_MAX =
		16 << 20, /* most valid bytes of an unpacked buffer; a larger buffer is corrupt */
	ETL_HEADER_TYPES = 0x16, /* above all known header types */
};

/* Facts that all records of a recording share. Fill it with etl_format_init(); immutable
 * afterwards. */
struct etl_format {
	struct etw_source_clock clock;
	/* pointer size of the recorded kernel, 4 or 8: for records whose header has none */
	uint8_t pointer_size;
	/* pointer size of all classic payloads, 4 or 8; 0: as in the record */
	uint8_t classic_pointer_size;
	/*
	 * Number of ticks after the anchor up to which a short calculation is exact; see
	 * etl_format_time().
	 */
	uint64_t short_ticks;
	uint64_t plain_ticks; /* as short_ticks if a tick is 100 ns; otherwise 0 */
	double time_per_tick; /* 100 ns */
	/* For each header type the parts of class_key that all of its records share; the other
	 * parts are 0. */
	uint64_t class_keys[ETL_HEADER_TYPES];
	/* Records that walks skip, by their index; borrowed. NULL: none. */
	const struct chosen *passed_over;
};

void etl_format_init(struct etl_format *format, const struct etw_source_clock *clock,
		     uint8_t pointer_size, uint8_t classic_pointer_size);

/* Returns the same time as etw_clock_time() with the format's clock, without divisions. */
int64_t etl_format_time(const struct etl_format *format, int64_t raw);

struct etl_walk {
	struct etw_record record; /* the record that the last step reached */
	/* Of kernel records that are not in this set only raw_time and index are read. Borrowed;
	 * set it after etl_walk_start(). NULL: all records are read completely. */
	const struct etw_kernel_choice *only;
	/* The same for events with an EVENT_HEADER that are not classic and have no extended items:
	 * only events with these ids are read completely. */
	const struct etw_id_choice *only_ids;
	const struct etl_format *format;
	const uint8_t *bytes; /* the buffer with its header; borrowed */
	uint32_t at;          /* offset of the next record in bytes */
	uint32_t record_size; /* bytes of the record that the last step reached, with its header,
				 without padding */
	uint32_t end;         /* offset where the valid bytes end */
	const char *stopped; /* why the rest of the buffer was dropped; NULL: nothing was dropped */
	uint32_t stopped_at; /* offset of the record that stopped the walk */
	uint32_t bad_items;  /* records whose payload was dropped because of bad extended items */
	uint32_t bad_items_at;     /* offset of the last such record */
	struct etw_guid component; /* storage for the provider of a record that only has a component
				      number */
};

/*
 * Starts a walk before the first record. bytes and format must outlive the walk. end: the size of
 * bytes, at most ETL_BUFFER_MAX. index: the index in the file of the first record of the buffer.
 */
void etl_walk_start(struct etl_walk *walk, const struct etl_format *format, const uint8_t *bytes,
		    uint32_t end, uint16_t processor, uint64_t index);

/*
 * Steps to the next record. Returns false after the last one, or if the next bytes are not a valid
 * record; then `stopped` is the reason.
 */
bool etl_walk_next(struct etl_walk *walk);

/*
 * Returns whether a record can begin with these ETL_RECORD_SIZE_MIN bytes. left: bytes from here to
 * the end of the records of the buffer; UINT32_MAX: only the first four bytes are known.
 */
bool etl_record_is_plausible(const uint8_t *at, uint32_t left);

/* The times of the records that a walk has reached. */
struct etl_times {
	uint64_t records;
	int64_t first_time; /* lowest raw time; INT64_MAX before the first record */
	int64_t last_time;  /* latest raw time; INT64_MIN before the first record */
	bool unordered;     /* times go backwards */
};

/* Steps to the next record that is not skipped, and adds the times of all records on the way to
 * *times. */
bool etl_walk_survey(struct etl_walk *walk, struct etl_times *times);

/* Returns the index in the file of the record after those that were reached. */
static inline uint64_t etl_walk_next_index(const struct etl_walk *walk)
{
	return walk->record.index + 1;
}

/* Returns the offset in `bytes` of the record that the last step reached. */
static inline uint32_t etl_walk_record_at(const struct etl_walk *walk)
{
	return walk->at - ((walk->record_size + 7) & ~7U);
}

/*
 * Moves to the record at an offset that an earlier walk over the same bytes has reached. index:
 * that of the record in its file. Returns false, with `stopped` set, if there is no record.
 */
bool etl_walk_seek(struct etl_walk *walk, uint32_t at, uint64_t index);

#endif
