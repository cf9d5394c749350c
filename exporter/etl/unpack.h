/* SPDX-License-Identifier: MIT */
/*
 * Unpacks compressed buffers, on the caller's thread or ahead of it on a helper's, and keeps the
 * blocks of memory that hold the bytes of buffers.
 *
 * Source: MS-XCA, "LZ77 Compression Algorithm" and "Plain LZ77 Decompression Algorithm Details",
 * Microsoft Learn; docs/etl-format.md section 2.
 */
#ifndef ETL_UNPACK_H
#define ETL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- blocks ---- */

/*
 * Blocks of memory for the bytes of buffers. Buffers come and go by the thousand and are mostly of
 * one size, so a few used blocks are kept for the next ones. One thread.
 */
struct etl_block {
	struct etl_block *next; /* while unused */
	size_t capacity;
	uint8_t bytes[];
};

/* Zero-initialise it. */
struct etl_blocks {
	struct etl_block *unused; /* owned */
	size_t unused_bytes;
};

/*
 * A block of at least size bytes, their content undefined; NULL without memory. To be given back,
 * or freed with free().
 */
struct etl_block *etl_block_get(struct etl_blocks *blocks, size_t size);
void etl_block_put(struct etl_blocks *blocks, struct etl_block *block); /* NULL is fine */
void etl_blocks_done(struct etl_blocks *blocks);

/* ---- unpacking ---- */

/*
 * Unpacks in until out_size bytes are made or the input ends between two items. *made is set in any
 * case: on failure (a copy from before the start, input that ends inside an item, more output than
 * fits) to what was made before the bad item. Reads and writes nothing outside the two blocks,
 * which do not overlap. Any thread.
 */
bool etl_decompress(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *made);

enum {
	ETL_UNPACK_AHEAD = 8,           /* buffers that a pass unpacks ahead, at the most */
	ETL_UNPACK_AHEAD_MAX = 1 << 20, /* bytes of such a buffer: few are larger */
};

/*
 * One buffer to unpack. The submitter's; between submission and the end of the wait it may look at
 * `submitted` only.
 */
struct etl_unpack_job {
	struct etl_block *packed; /* owned */
	size_t packed_size;       /* of what is there, header included */
	struct etl_block *out;    /* owned */
	uint32_t end;             /* header included; wanted, then made */
	bool good;                /* then: the stream made sense up to there */
	bool submitted;           /* and not yet waited for */
	bool done;                /* under the helper's lock */
	struct etl_unpack_job *next;
};

/* What unpacks the buffers of one pass. Set blocks; the rest is zero. One thread uses it. */
struct etl_unpacker {
	struct etl_blocks *blocks; /* borrowed */
	struct etl_helper *helper; /* owned; NULL until there is enough to unpack */
	unsigned buffers;          /* compressed ones so far, up to what it takes to start one */
};

/* Takes note of a compressed buffer. Whether there is a helper thread to submit jobs to. */
bool etl_unpacker_expect(struct etl_unpacker *unpacker);
/* Unpacks packed bytes, which may be the job's or not, on the calling thread. */
void etl_unpack_now(struct etl_unpack_job *job, const uint8_t *packed, size_t packed_size);
/* With a helper. The job and its blocks stay where they are until it has been waited for. */
void etl_unpacker_submit(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* Returns when the job is done, if it was submitted, and gives its packed block back. */
void etl_unpacker_wait(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* The same, and gives the unpacked block back as well. */
void etl_unpacker_drop(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* When every job has been waited for. */
void etl_unpacker_done(struct etl_unpacker *unpacker);

#endif
