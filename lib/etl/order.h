/* SPDX-License-Identifier: MIT */
/*
 * Puts the records of a recording into time order.
 *
 * ETW has a buffer for every processor and writes each to the file when it is full, so a file
 * contains many ordered runs, interleaved. Attributing events to processes needs one order: that of
 * a stable sort of all records by time. Records of the same time stay in file order, and records
 * without time come first. A heap over the open buffers produces it; each buffer is opened when the
 * merge reaches its first time.
 */
#ifndef LIB_ETL_ORDER_H
#define LIB_ETL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"

enum { ETL_OPEN_MAX = 512 << 20, ETL_WINDOW_MAX = 32 << 20 };

/* The progress of a pass. The caller owns it; the pass updates it before each on_buffer(). */
struct etl_progress {
	uint64_t buffers;
	uint64_t records;
	uint64_t late_records;
	int64_t last_time; /* 100 ns since 1601 UTC; records without time do not change it */
};

/*
 * Shows every record of an indexed recording to the visitor, in time order, and frees the unpacked
 * buffers of the index after use. If open buffers would take more than open_bytes_max of memory,
 * the order is best effort, and late records are counted. Buffers that are not indexed come last,
 * ordered within a window as by etl_order_stream().
 *
 * Returns true also if the visitor stopped the pass; false if the file cannot be read or memory
 * runs out.
 */
bool etl_order_run(struct etw_file *file, struct etl_index *index, size_t open_bytes_max,
		   struct etl_progress *progress, const struct etw_visitor *visitor,
		   struct etw_error *err);

/*
 * Shows the records in one pass without an index: buffers of window_bytes in all are read ahead and
 * their records ordered. Damage and a wrong number of buffers are counted and reported here,
 * because there is no first pass.
 */
bool etl_order_stream(struct etw_file *file, size_t window_bytes, struct etw_damage *damage,
		      struct etl_progress *progress, const struct etw_visitor *visitor,
		      struct etw_error *err);

#endif
