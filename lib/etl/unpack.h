/* SPDX-License-Identifier: MIT */
/*
 * Unpacks compressed buffers, on the thread of the caller or ahead of it on a helper thread.
 *
 * Source: MS-XCA, "LZ77 Compression Algorithm" and "Plain LZ77 Decompression Algorithm Details",
 * Microsoft Learn; docs/etl-format.md section 2.
 */
#ifndef LIB_ETL_UNPACK_H
#define LIB_ETL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/etl/block.h"
#include "lib/etl/jobs.h"

/*
 * Unpacks `in` until there are out_size bytes or the input ends between two items. Fails if an item
 * copies from before the start, if the input ends inside an item, or if the output does not fit.
 * *made is always set to the size of the valid output. Does not access memory outside the two
 * blocks, which must not overlap. Any thread.
 */
bool etl_decompress(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *made);

enum {
	ETW_UNPACK_AHEAD = 8,           /* the most buffers that a pass unpacks ahead */
	ETW_UNPACK_AHEAD_MAX = 1 << 20, /* bytes of such a buffer: few are larger */
};

/* One buffer to unpack. */
struct etw_unpack_job {
	struct job job;           /* the first member */
	struct etw_block *packed; /* owned */
	size_t packed_size;       /* of the bytes in packed, header included */
	struct etw_block *out;    /* owned */
	uint32_t end;             /* header included; first as requested, then as unpacked */
	bool good;                /* after unpacking: the stream was valid up to there */
};

/* Unpacks the buffers of one pass. Set blocks and zero the rest. One thread uses it. */
struct etw_unpacker {
	struct etw_blocks *blocks; /* borrowed */
	struct jobs *jobs;         /* owned; NULL until there were enough compressed buffers */
	unsigned buffers;          /* compressed ones so far, counted until the helper starts */
};

/* Counts a compressed buffer. Returns whether there is a helper thread for jobs. */
bool etl_unpacker_expect(struct etw_unpacker *unpacker);
/* Unpacks packed bytes, of the job or others, on the calling thread. */
void etl_unpack_now(struct etw_unpack_job *job, const uint8_t *packed, size_t packed_size);
/* Only with a helper. The job and its blocks must not move until the wait is over. */
void etl_unpacker_submit(struct etw_unpacker *unpacker, struct etw_unpack_job *job);
/* Waits until the job is done, if it was submitted, and returns its packed block to the pool. */
void etl_unpacker_wait(struct etw_unpacker *unpacker, struct etw_unpack_job *job);
/* The same, and also returns the unpacked block. */
void etl_unpacker_drop(struct etw_unpacker *unpacker, struct etw_unpack_job *job);
/* Call it after the wait for every job. */
void etl_unpacker_done(struct etw_unpacker *unpacker);

#endif
