/* SPDX-License-Identifier: MIT */
/*
 * The first pass over a recording: it notes which buffers exist, and the time from which each one
 * is needed.
 *
 * With the index, the second pass can deliver records in time order with little memory: a buffer is
 * read when the merge reaches its first time, not earlier. The index takes 48 bytes for each
 * buffer; buffers beyond ETL_INDEX_MAX are not indexed.
 */
#ifndef LIB_ETL_INDEX_H
#define LIB_ETL_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/etl/file.h"
#include "lib/etl/scan.h"
#include "lib/etl/unpack.h"

struct etl_entry {
	uint64_t offset;
	uint64_t first_record; /* index in the file of the first record of the buffer */
	int64_t first_time;    /* raw; the lowest in the buffer */
	/* owned; the unpacked bytes, kept from the first pass. NULL: the buffer must be read */
	struct etl_block *unpacked;
	uint32_t disk_size;
	uint32_t end;
	uint16_t processor;
	bool compressed;
	bool unordered; /* times go backwards inside the buffer */
};

/* Sums over the buffers of a file up to some place; all zero at the start of the file. */
struct etl_so_far {
	uint64_t records;
	uint64_t work; /* work of the compressed buffers: their records, and one more for each
			  ETL_WORK_BYTES unpacked bytes */
};

/*
 * Limits what compressed buffers may unpack to. It is needed because 8 bytes of the file can unpack
 * to 64 KiB, and 114 bytes to 32,764 records. In real recordings a record that differs from the one
 * before takes at least three bytes. So the work may be ETL_WORK_FREE, and one more for each byte
 * of the file up to that place.
 */
enum { ETL_WORK_FREE = 1 << 18, ETL_WORK_BYTES = 1024 };

/* Zero-initialise it, then set the limits. */
struct etl_index {
	size_t entries_max;
	size_t keep_bytes; /* limit for all unpacked buffers that are kept, in bytes */

	/* owned; sorted by first time, then by place in the file. Buffers without records have no
	 * entry */
	struct etl_entry *entries;
	size_t count;
	size_t capacity;
	size_t kept_bytes;
	/* false: entries_max was reached, and the rest of the file, without entries, starts at: */
	bool complete;
	uint64_t rest_offset;
	uint64_t rest_sequence;
	struct etl_so_far rest;
	uint64_t buffers;       /* number of buffers scanned */
	uint64_t empty_buffers; /* buffers before rest_offset that have no entry */
};

enum { ETL_INDEX_MAX = 4 << 20, ETL_KEEP_MAX = 256 << 20 };

/*
 * Returns whether a compressed buffer at `place` with this number of records stays within the limit
 * after the buffers so far.
 */
bool etl_so_far_admits(const struct etl_so_far *so_far, const struct etl_place *place,
		       uint64_t records);
/* Adds a buffer with this number of records. */
void etl_so_far_add(struct etl_so_far *so_far, const struct etl_place *place, uint64_t records);

/* As etl_so_far_admits(), for a buffer that was read. It counts the records only if their number
 * could be too high. */
bool etl_buffer_is_plausible(const struct etw_file *file, const struct etl_buffer *buffer,
			     const struct etl_so_far *so_far);

/* Returns whether the pass must end. The acquire pairs with the release in etw_source_stop(). */
static inline bool etl_visitor_stopping(const struct etw_visitor *visitor)
{
	return visitor->stopping && atomic_load_explicit(visitor->stopping, memory_order_acquire);
}

/*
 * Walks the next buffer, shows its records to the visitor, counts and reports damage, and adds the
 * buffer to *so_far. A compressed buffer that unpacks to more than is plausible (ETL_WORK_FREE)
 * counts as damaged, and none of its records is shown.
 */
struct etl_times etl_survey_buffer(const struct etw_file *file, const struct etl_buffer *buffer,
				   struct etl_so_far *so_far, struct etw_damage *damage,
				   const struct etw_visitor *visitor);

/*
 * Reports a closed recording that has fewer buffers than its header says: it was cut off exactly
 * between two buffers.
 */
void etl_check_count(const struct etw_file *file, uint64_t buffers, struct etw_damage *damage);

/*
 * Builds the index, replacing an earlier one, and shows every record to the visitor, in file order.
 * Damage is counted and reported. It also returns true if the visitor stopped the pass; the index
 * then has the buffers that were read.
 */
bool etl_index_build(struct etl_index *index, struct etw_file *file, struct etw_damage *damage,
		     const struct etw_visitor *visitor, struct etw_error *err);
void etl_index_done(struct etl_index *index);

/* ---- loading buffers ---- */

/*
 * Loads the buffers of an index for the second pass, in the order of the index; a helper thread
 * unpacks compressed ones ahead.
 */
struct etl_loader {
	struct etl_input *input; /* borrowed, like the next members */
	struct etl_index *index;
	struct etl_unpacker unpacker;
	size_t next; /* the next entry to submit */
	/* entry i uses the job i modulo ETL_UNPACK_AHEAD */
	struct etl_unpack_job jobs[ETL_UNPACK_AHEAD];
};

void etl_loader_start(struct etl_loader *loader, struct etl_input *input, struct etl_index *index);

/*
 * Returns the unpacked bytes of an entry in a block that the caller owns. *end is their end; it is
 * below the end of the entry if the file was changed meanwhile. Returns NULL if they cannot be
 * read. Call it once for each entry, in order.
 */
struct etl_block *etl_loader_take(struct etl_loader *loader, size_t entry, uint32_t *end,
				  struct etw_error *err);
void etl_loader_done(struct etl_loader *loader);

#endif
