/* SPDX-License-Identifier: MIT */
#include "etl/block.h"

#include <stdlib.h>

enum {
	KEEP_BYTES = 8 << 20,
	GRAIN = 4096,
};

struct etl_block *etl_block_get(struct etl_blocks *blocks, size_t size)
{
	struct etl_block *block = blocks->unused;
	size_t capacity = (size + GRAIN - 1) / GRAIN * GRAIN;

	/* Only the last one used is looked at: a file has one size of buffers, or the cache is cold
	 * anyway. */
	if (block && block->capacity >= size && block->capacity / 4 <= capacity) {
		blocks->unused = block->next;
		blocks->unused_bytes -= block->capacity;
		return block;
	}
	block = malloc(sizeof *block + capacity);
	if (block) {
		block->capacity = capacity;
	}
	return block;
}

void etl_block_put(struct etl_blocks *blocks, struct etl_block *block)
{
	if (!block) {
		return;
	}
	if (blocks->unused_bytes + block->capacity > KEEP_BYTES) {
		free(block);
		return;
	}
	block->next = blocks->unused;
	blocks->unused = block;
	blocks->unused_bytes += block->capacity;
}

void etl_blocks_done(struct etl_blocks *blocks)
{
	while (blocks->unused) {
		struct etl_block *next = blocks->unused->next;

		free(blocks->unused);
		blocks->unused = next;
	}
	blocks->unused_bytes = 0;
}
