/* SPDX-License-Identifier: MIT */
/*
 * Blocks of memory for the bytes of buffers, compressed or not. A recording has thousands of
 * buffers, mostly of one size, so a few unused blocks are kept for the next buffers.
 */
#ifndef LIB_ETL_BLOCK_H
#define LIB_ETL_BLOCK_H

#include <stddef.h>
#include <stdint.h>

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

#endif
