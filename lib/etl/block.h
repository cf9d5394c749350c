/* SPDX-License-Identifier: MIT */
/*
 * Blocks of memory for the bytes of buffers, packed or unpacked. A recording has thousands of
 * buffers, mostly of one size, so a few unused blocks are kept for the next buffers.
 */
#ifndef LIB_ETL_BLOCK_H
#define LIB_ETL_BLOCK_H

#include <stddef.h>
#include <stdint.h>

struct etw_slab; /* private */

struct etw_block {
	struct etw_block *next; /* while unused */
	struct etw_slab *slab;  /* that it is cut from; NULL: of the C library */
	size_t capacity;
	uint8_t bytes[];
};

/* Zero-initialise it. One thread. */
struct etw_blocks {
	struct etw_block *unused; /* owned */
	size_t unused_bytes;
	struct etw_slab *slab;  /* that the next block is cut from */
	size_t slabs;           /* taken, those that were freed again included */
	size_t allocated_bytes; /* taken from the C library, up to where slabs begin */
};

/*
 * A block of at least size bytes with undefined content; NULL without memory. The caller returns it
 * with etl_block_put(), or frees it with etl_block_free(). NULL is allowed for both.
 */
struct etw_block *etl_block_get(struct etw_blocks *blocks, size_t size);
/* The memory that a block of size bytes takes, if it is none that was used before. */
size_t etl_block_cost(size_t size);
void etl_block_put(struct etw_blocks *blocks, struct etw_block *block);
void etl_block_free(struct etw_block *block);

/* Blocks that are in use stay valid. */
void etl_blocks_done(struct etw_blocks *blocks);

#endif
