/* SPDX-License-Identifier: MIT */
/*
 * The first pass over a recording: which buffers it has, and from which time on each one is needed.
 *
 * With the index, the second pass can deliver records in time order with little memory: a buffer is
 * read when the merge reaches its first time, not earlier. The index takes 48 bytes for each
 * buffer; buffers beyond ETW_INDEX_MAX are not indexed.
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

struct etw_entry {
	uint64_t offset;
	uint64_t first_record; /* index in the file of the buffer's first record */
	int64_t first_time;    /* raw; the lowest in the buffer */
	/* owned; the unpacked bytes, kept from the first pass. NULL: the buffer must be read */
	struct etw_block *unpacked;
	uint32_t disk_size;
	uint32_t end;
	uint16_t processor;
	bool compressed;
	bool unordered; /* times go backwards inside the buffer */
};

/* What the buffers of a file have had, up to a place; zero at its start. */
struct etw_so_far {
	uint64_t records;
	uint64_t work; /* of the compressed buffers: records, and ETL_WORK_BYTES for one more */
};

/*
 * What compressed buffers may unpack to, because a copy of 64 KiB takes 8 bytes of the file, and
 * 114 bytes can hold 32,764 records. A record that differs from the one before takes at least three
 * bytes. So the work may be ETL_WORK_FREE and one more for each byte of the file up to there.
 */
enum { ETL_WORK_FREE = 1 << 18, ETL_WORK_BYTES = 1024 };

/* Zero-initialise it, then set the limits. */
struct etw_index {
	size_t entries_max;
	size_t keep_bytes; /* of unpacked buffers, together */

	/* owned; by first time, then by place in the file. Buffers without records have none */
	struct etw_entry *entries;
	size_t count;
	size_t capacity;
	size_t kept_bytes;
	/* false: entries_max was reached; the rest of the file starts at these: */
	bool complete;
	uint64_t rest_offset;
	uint64_t rest_sequence;
	struct etw_so_far rest;
	uint64_t buffers;       /* scanned */
	uint64_t empty_buffers; /* of those before rest_offset: the ones without an entry */
};

enum { ETW_INDEX_MAX = 4 << 20, ETW_KEEP_MAX = 256 << 20 };

/*
 * Whether a compressed buffer with so many records may follow those so far, at place->offset of its
 * file.
 */
bool etl_so_far_admits(const struct etw_so_far *so_far, const struct etw_place *place,
		       uint64_t records);
/* Adds a buffer with so many records. */
void etl_so_far_add(struct etw_so_far *so_far, const struct etw_place *place, uint64_t records);

/* The same for a buffer that was read: its records are counted only if their number could be too
 * high. */
bool etl_buffer_is_plausible(const struct etw_file *file, const struct etw_buffer *buffer,
			     const struct etw_so_far *so_far);

/* Pairs with the release in etw_source_stop(). */
static inline bool etl_visitor_stopping(const struct etw_visitor *visitor)
{
	return visitor->stopping && atomic_load_explicit(visitor->stopping, memory_order_acquire);
}

/*
 * Walks the buffer that follows those so far, shows the records to the visitor, counts and reports
 * damage, and adds the buffer to those so far. A compressed buffer that unpacks to implausibly much
 * (ETL_WORK_FREE) counts as damaged, and none of its records is shown.
 */
struct etw_times etw_survey_buffer(const struct etw_file *file, const struct etw_buffer *buffer,
				   struct etw_so_far *so_far, struct etw_damage *damage,
				   const struct etw_visitor *visitor);

/*
 * Reports a closed recording that has fewer buffers than were written according to its header: it
 * was cut off exactly between two buffers.
 */
void etw_check_count(const struct etw_file *file, uint64_t buffers, struct etw_damage *damage);

/*
 * Builds the index anew and shows every record to the visitor, in file order. Damage is counted and
 * reported. Also returns true if the visitor stopped the pass; the index then has the buffers that
 * were read.
 */
bool etw_index_build(struct etw_index *index, struct etw_file *file, struct etw_damage *damage,
		     const struct etw_visitor *visitor, struct etw_error *err);
void etw_index_done(struct etw_index *index);

/* ---- loading buffers ---- */

/*
 * Loads the buffers of an index for the second pass, in the order of the index; compressed ones are
 * unpacked ahead, on a thread of their own.
 */
struct etl_loader {
	struct etw_input *input; /* borrowed, as is what follows */
	struct etw_index *index;
	struct etw_unpacker unpacker;
	size_t next;                                  /* the entry after those submitted */
	struct etw_unpack_job jobs[ETW_UNPACK_AHEAD]; /* of entry i: i modulo their number */
};

void etl_loader_start(struct etl_loader *loader, struct etw_input *input, struct etw_index *index);

/*
 * Returns the unpacked bytes of an entry in a block that the caller owns. *end is their end; it is
 * below the end of the entry if the file was changed meanwhile. NULL if they cannot be read. Call
 * it once for each entry, in order.
 */
struct etw_block *etl_loader_take(struct etl_loader *loader, size_t entry, uint32_t *end,
				  struct etw_error *err);
void etl_loader_done(struct etl_loader *loader);

#endif
