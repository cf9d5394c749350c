/* SPDX-License-Identifier: MIT */
/*
 * Blocks of memory for the bytes of buffers. Buffers come and go by the thousand and are mostly of
 * one size, so a few used blocks are kept for the next ones. One thread.
 */
#ifndef ETL_BLOCK_H
#define ETL_BLOCK_H

#include <stddef.h>
#include <stdint.h>

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

#endif
