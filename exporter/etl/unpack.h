/* SPDX-License-Identifier: MIT */
/*
 * Unpacks compressed buffers, on the caller's thread or ahead of it on a helper's.
 *
 * Unpacking is most of the work of reading a compressed recording and needs nothing but the bytes,
 * so it is the one part that a second core can take over; reading, order and delivery stay with the
 * source's thread. A caller that waits for a job does jobs itself meanwhile, so both cores are busy
 * and a slow helper holds nobody up.
 */
#ifndef ETL_UNPACK_H
#define ETL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etl/block.h"

/*
 * Unpacks a buffer of which packed_size bytes, header included, are there, to at most `end` bytes
 * of out, header included. Returns where the unpacked bytes end; *good is false when the stream
 * made no sense from there on.
 */
uint32_t etl_unpack(const uint8_t *packed, size_t packed_size, struct etl_block *out, uint32_t end,
		    bool *good);

/*
 * One buffer to unpack. The submitter's; between submission and the end of the wait it may look at
 * `submitted` only.
 */
struct etl_unpack_job {
	struct etl_block *packed;
	size_t packed_size;
	struct etl_block *out;
	uint32_t end;   /* wanted; then made */
	bool good;      /* then: the stream made sense */
	bool submitted; /* and not yet waited for */
	bool done;      /* under the unpacker's lock */
	struct etl_unpack_job *next;
};

struct etl_unpacker; /* opaque; one thread submits and waits */

/* Starts a helper thread; NULL when there is none to be had, which is no error: unpack without. */
struct etl_unpacker *etl_unpacker_start(void);
/* The job and its blocks stay where they are until it has been waited for. */
void etl_unpacker_submit(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* Returns when the job is done. */
void etl_unpacker_wait(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* When every job has been waited for. NULL is fine. */
void etl_unpacker_stop(struct etl_unpacker *unpacker);

#endif
