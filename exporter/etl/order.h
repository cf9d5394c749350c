/* SPDX-License-Identifier: MIT */
/*
 * Puts the records of a recording into time order.
 *
 * ETW gives every processor its own buffer and writes each to the file as it fills, so a file holds
 * many ordered runs, interleaved. Attributing an event to a process needs one order: that of a
 * stable sort of all records by time (ties stay in file order, records without time come first). A
 * heap over the open buffers gives it, with each buffer opened when the merge reaches its first
 * time.
 */
#ifndef ETL_ORDER_H
#define ETL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etl/file.h"
#include "etl/index.h"

enum { ETL_OPEN_MAX = 512 << 20, ETL_WINDOW_MAX = 32 << 20 };

/* What a pass has done so far; the caller's, brought up to date before each on_buffer. */
struct etl_progress {
	uint64_t buffers;
	uint64_t records;
	uint64_t late_records;
	int64_t last_time; /* 100 ns since 1601 UTC; left alone by records without time */
};

/*
 * Shows every record of an indexed recording to the visitor, in time order, and frees the unpacked
 * buffers of the index as they are used up. While more than open_bytes_max of buffers would have to
 * be open at once, the order is best effort and late records are counted. What the index does not
 * cover comes last, ordered within a window as by etl_order_stream().
 *
 * True also when the visitor stopped it; false when the file cannot be read or memory is out.
 */
bool etl_order_run(struct etl_file *file, struct etl_index *index, size_t open_bytes_max,
		   struct etl_progress *progress, const struct etl_visitor *visitor,
		   struct error *err);

/*
 * The same in one pass without an index: a window of window_bytes is read ahead and ordered. Damage
 * is counted and reported, as there was no pass before; so is a wrong number of buffers.
 */
bool etl_order_stream(struct etl_file *file, size_t window_bytes, struct etl_damage *damage,
		      struct etl_progress *progress, const struct etl_visitor *visitor,
		      struct error *err);

#endif
