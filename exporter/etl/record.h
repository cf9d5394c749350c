/* SPDX-License-Identifier: MIT */
/*
 * Walks the records of a buffer: every header kind of a recording becomes a struct event_record.
 *
 * A record is read when the walk reaches it and lies in the walk until the next step, so that a
 * merge can look at the time of each buffer's next record and then deliver it without reading it
 * twice.
 *
 * Source: Geoff Chappell, "Trace Headers" and pages below it; docs/etl-format.md sections 3, 4
 * and 9.
 */
#ifndef ETL_RECORD_H
#define ETL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "source/event_record.h"
#include "source/source.h"

enum {
	ETL_BUFFER_HEADER_SIZE = 0x48, /* in front of the records of a buffer */
	ETL_BUFFER_MAX = 16 << 20, /* valid bytes of a buffer, unpacked; a larger one is corrupt */
};

/* What all records of a recording share. Fill it with etl_format_init(); immutable afterwards. */
struct etl_format {
	struct source_clock clock;
	/* of the recorded kernel, 4 or 8: for records that do not say */
	uint8_t pointer_size;
	/* 4 or 8: taken for classic payloads, whatever the record says; 0: not */
	uint8_t classic_pointer_size;
	/*
	 * For times up to so many ticks after the anchor a short calculation is exact; see
	 * etl_format_time().
	 */
	uint64_t short_ticks;
	double time_per_tick; /* 100 ns */
};

void etl_format_init(struct etl_format *format, const struct source_clock *clock,
		     uint8_t pointer_size, uint8_t classic_pointer_size);

/* clock_time() of the format's clock, without its divisions. */
int64_t etl_format_time(const struct etl_format *format, int64_t raw);

struct etl_walk {
	struct event_record record; /* the one that the last step reached */
	/* Of kernel records that are not among them only raw_time and index are read; borrowed, set
	 * after the start. NULL: all are read. */
	const struct kernel_choice *only;
	bool left_out; /* the last step reached such a record */
	const struct etl_format *format;
	const uint8_t *bytes; /* of the buffer, its header included; borrowed */
	uint32_t at;          /* offset of the next record in bytes */
	uint32_t end;         /* offset where the valid bytes end */
	uint64_t next_index;
	const char *stopped;   /* why the rest of the buffer was dropped; NULL: it was not */
	uint32_t stopped_at;   /* offset of the record that stopped the walk */
	uint32_t bad_items;    /* records whose payload was dropped with bad extended items */
	uint32_t bad_items_at; /* offset of the last such record */
	struct guid component; /* provider of the record, when it has but a component number */
};

/*
 * Starts before the first record. bytes (end of them) and format must outlive the walk. end is at
 * most ETL_BUFFER_MAX. index: of the buffer's first record in its file.
 */
void etl_walk_start(struct etl_walk *walk, const struct etl_format *format, const uint8_t *bytes,
		    uint32_t end, uint16_t processor, uint64_t index);

/*
 * Steps to the next record; false behind the last one, or when what follows makes no sense (then
 * `stopped` says why).
 */
bool etl_walk_next(struct etl_walk *walk);

/*
 * Goes to the record at an offset that an earlier walk over the same bytes was at; false (and
 * stopped) when there is none. index: of that record in its file.
 */
bool etl_walk_seek(struct etl_walk *walk, uint32_t at, uint64_t index);

#endif
