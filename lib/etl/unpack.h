/* SPDX-License-Identifier: MIT */
/*
 * Unpacks compressed buffers, on the caller's thread or in advance on a helper thread, and packs
 * buffers.
 *
 * Source: MS-XCA, "LZ77 Compression Algorithm" and "Plain LZ77 Decompression Algorithm Details",
 * Microsoft Learn; docs/etl-format.md section 2.
 */
#ifndef LIB_ETL_UNPACK_H
#define LIB_ETL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- helper threads ---- */

/*
 * Divides work among threads: one thread makes jobs and needs their results, usually in the order
 * in which it made them; helper threads do the jobs.
 *
 * Jobs are begun in the order of their submission by whichever thread is free: a helper, or the
 * submitter itself while it waits for one of them. So a machine without a second processor loses
 * nothing but the cost of a lock for each job, and with one helper both threads work.
 *
 * The submitter decides how many jobs exist at a time, and so how much memory they take.
 */

enum { JOBS_THREADS_MOST = 8 }; /* including the submitter's thread */

/*
 * The part of a job that this module needs. Embed it in the struct of the whole job, and zero it.
 * From submission to the end of the wait the job belongs to the thread that does it.
 */
struct job {
	struct job *next;
	bool submitted; /* for the submitter's thread only: submitted, and not waited for yet */
	bool done;      /* under the lock */
};

typedef void jobs_do(struct job *job);

struct jobs; /* opaque */

/*
 * Starts helpers, so that there are `threads` threads including the caller's; at most
 * JOBS_THREADS_MOST, and fewer if the system refuses more. Returns NULL when memory runs out, or if
 * no helper could be started; the caller must then do its jobs itself.
 */
struct jobs *jobs_start(unsigned threads, jobs_do *run);

/* Submits a job, which must not move until jobs_wait(). Only the submitter's thread may call it. */
void jobs_submit(struct jobs *jobs, struct job *job);

/* Waits until a job is done, and does other jobs meanwhile. Returns at once if the job was not
 * submitted. Only the submitter's thread may call it. */
void jobs_wait(struct jobs *jobs, struct job *job);

/* Ends the helpers. Jobs that no thread has begun are not done. NULL is allowed. */
void jobs_stop(struct jobs *jobs);

/* ---- blocks of memory ---- */

/*
 * Blocks of memory for the bytes of buffers, compressed or not. A recording has thousands of
 * buffers, mostly of one size, so a few unused blocks are kept for the next buffers.
 */

struct etl_slab; /* private */

struct etl_block {
	struct etl_block *next; /* next unused block; only while the block is unused */
	struct etl_slab *slab; /* slab that contains the block; NULL: it comes from the C library */
	size_t capacity;
	uint8_t bytes[];
};

/* Zero-initialise it. One thread. */
struct etl_blocks {
	struct etl_block *unused; /* owned */
	size_t unused_bytes;
	struct etl_slab *slab;  /* slab that the next block comes from */
	size_t slabs;           /* number of slabs so far, with freed ones */
	size_t allocated_bytes; /* bytes from the C library so far; beyond a limit slabs are used */
};

/*
 * Returns a block of at least size bytes with undefined content; NULL when memory runs out. The
 * caller returns it to the pool with etl_block_put(), or frees it with etl_block_free(). Both
 * accept NULL.
 */
struct etl_block *etl_block_get(struct etl_blocks *blocks, size_t size);
/* Returns the memory that a new block of size bytes takes, in bytes. */
size_t etl_block_cost(size_t size);
void etl_block_put(struct etl_blocks *blocks, struct etl_block *block);
void etl_block_free(struct etl_block *block);

/* Frees the unused blocks. Blocks in use stay valid. */
void etl_blocks_done(struct etl_blocks *blocks);

/* ---- unpacking ---- */

/*
 * Unpacks `in` until out has out_size bytes or the input ends between two items. Fails if an item
 * copies from before the start, if the input ends inside an item, or if the output does not fit.
 * *made is always set to the size of the valid output. Accesses no memory outside the two blocks,
 * which must not overlap. Any thread may call it.
 */
bool etl_decompress(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *made);

enum {
	ETL_UNPACK_AHEAD = 8, /* most buffers that a pass unpacks ahead */
	ETL_UNPACK_AHEAD_MAX =
		1 << 20, /* most bytes of a buffer that is unpacked ahead; few are larger */
};

/* One buffer to unpack. */
struct etl_unpack_job {
	struct job job;           /* the first member */
	struct etl_block *packed; /* owned */
	size_t packed_size;       /* bytes in packed, with the header */
	struct etl_block *out;    /* owned */
	uint32_t end; /* bytes of the buffer with its header: first as expected, then as unpacked */
	bool good;    /* set by unpacking: whether the stream was valid up to end */
};

/* Unpacks the buffers of one pass. Set blocks and zero the rest. One thread uses it. */
struct etl_unpacker {
	struct etl_blocks *blocks; /* borrowed */
	struct jobs *jobs;         /* owned; NULL until there were enough compressed buffers */
	unsigned buffers;          /* compressed buffers so far, counted until the helper starts */
};

/* Counts a compressed buffer. Returns whether there is a helper thread for jobs. */
bool etl_unpacker_expect(struct etl_unpacker *unpacker);
/* Unpacks packed bytes (those of the job or others) into job->out, on the calling thread. */
void etl_unpack_now(struct etl_unpack_job *job, const uint8_t *packed, size_t packed_size);
/* Submits a job to the helper thread, which must exist. The job and its blocks must not move until
 * the wait is over. */
void etl_unpacker_submit(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* Waits until the job is done, if it was submitted, and returns its packed block to the pool. */
void etl_unpacker_wait(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* As etl_unpacker_wait(), and returns the unpacked block to the pool, too. */
void etl_unpacker_drop(struct etl_unpacker *unpacker, struct etl_unpack_job *job);
/* Ends the helper thread. Call it after every submitted job was waited for. */
void etl_unpacker_done(struct etl_unpacker *unpacker);

/* ---- packing ---- */

/*
 * Compresses a buffer to a plain LZ77 stream, as in compressed recordings (docs/etl-format.md
 * section 2).
 */

/* Returns the most bytes that the stream of size bytes can have: only literals, and a flag word for
 * every 32 of them. */
static inline size_t etl_compress_bound(size_t size)
{
	return size + 4 * (size / 32 + 1);
}

/*
 * Compresses size bytes to out, which must have etl_compress_bound(size) bytes, and returns the
 * size of the stream. The search is greedy: the only candidate for a copy is the last place with
 * the same three bytes. Any thread may call it.
 *
 * Source: MS-XCA, sections 2.3 and 2.4.
 */
size_t etl_compress(const uint8_t *bytes, size_t size, uint8_t *out);

#endif
