/* SPDX-License-Identifier: MIT */
/*
 * Reads a recording in ranges, on several threads.
 */
#ifndef ETL_RANGES_H
#define ETL_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "etl/order.h"
#include "source/source.h"

/* Where the ranges of a recording begin: range i has the times from starts[i] on. */
struct etl_ranges {
	int64_t *starts; /* owned; rising, the first one is INT64_MIN */
	size_t count;
};

/*
 * Chooses ranges for so many threads. False: there are none, because the recording is small, or not
 * all of it is indexed, or too many buffers would belong to several ranges or be open at once; or
 * there is no memory.
 */
bool etl_ranges_choose(const struct etl_index *index, size_t threads, struct etl_ranges *ranges);
void etl_ranges_done(struct etl_ranges *ranges);

/*
 * A pass in time order, like etl_order_run(), in which each record is first shown to one of the
 * helpers, each of which has a thread of its own. A helper is shown whole ranges. What helpers
 * leave to the visitor it is shown on this thread, in time order; what it is shown is valid only
 * during the callback. It gets on_buffer at the end of each range. If no thread can be started, the
 * pass is that of etl_order_run(). helper_count: from 1 to EVENT_HELPERS_MAX.
 *
 * Memory: what the helpers have left is copied, up to 20 MiB of it; and each has its own open
 * buffers.
 */
bool etl_order_run_ranges(struct etl_file *file, struct etl_index *index,
			  const struct etl_ranges *ranges, const struct event_helper *helpers,
			  size_t helper_count, struct etl_progress *progress,
			  const struct etl_visitor *visitor, struct error *err);

#endif
