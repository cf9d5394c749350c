/* SPDX-License-Identifier: MIT */
/*
 * Reads a recording on a thread of its own, beside the thread that uses its records.
 */
#ifndef ETL_READING_THREAD_H
#define ETL_READING_THREAD_H

#include <stdbool.h>

#include "base/error.h"
#include "etl/block.h"
#include "etl/index.h"
#include "etl/order.h"

/*
 * A pass over a recording: etl_order_run() or etl_order_stream(), in time order, or
 * etl_index_build(), in file order, with what they need in the context. In time order it counts in
 * *progress what it shows; it counts damage in *damage.
 */
typedef bool etl_pass(void *context, struct etl_progress *progress, struct etl_damage *damage,
		      const struct etl_visitor *visitor, struct error *err);

/* A pass, and what it works on. */
struct etl_reading {
	etl_pass *pass;
	void *context;
	/* The pool of the pass. Until the end nothing else uses it, or the file that it is of. */
	struct etl_blocks *blocks;
	struct etl_progress *progress;
	struct etl_damage *damage;
	/* Then the visitor may take kernel records out of its choice (only), but add none, while it
	 * is shown a record. only_ids does not change. */
	bool in_file_order;
};

/* Runs the pass on this thread. */
bool etl_read_here(const struct etl_reading *reading, const struct etl_visitor *visitor,
		   struct error *err);

/*
 * Runs the pass on a thread of its own. The visitor is called on this thread: with the same records
 * and buffers in the same order as etl_read_here() would, and *progress and *damage are those of
 * what was shown so far whenever it gets on_buffer(), and in the end. When the visitor is stopping,
 * it is not called again. The results and the errors are those of the pass. If there is no thread
 * or no memory for it, the pass runs on this thread.
 *
 * In file order, a record and what it borrows are valid only during the callback.
 *
 * The pass is ahead of the visitor by less than 8192 records, and by 8 MiB and one buffer of bytes
 * whose buffer is at its end; what it has open itself is bounded as ever.
 */
bool etl_read_aside(const struct etl_reading *reading, const struct etl_visitor *visitor,
		    struct error *err);

#endif
