/* SPDX-License-Identifier: MIT */
/*
 * A replay of a compressed recording keeps its unpacked buffers from the first pass to the second
 * (index.c). To touch so much new memory page by page costs about a third as much as to unpack
 * the bytes that it is for. So once a recording has taken a few MiB, blocks are cut from slabs
 * of 2 MiB, which the system can back by one large page each. A slab counts its blocks, and is
 * freed with the last of them. So one small block can hold a whole slab, and a recording can be
 * made to keep such blocks alone. Therefore a pool cuts from so many slabs as a pass may keep
 * bytes, and further blocks are of the C library.
 */
#include "lib/etl/block.h"

#include <stdlib.h>

#include "base/os.h"

enum {
	KEEP_BYTES = 8 << 20,
	GRAIN = 4096,
	SLAB_SIZE = OS_LARGE_PAGE_SIZE,
	SLABS_FROM = 4 << 20, /* bytes taken before: most recordings need no slab */
	SLABS_MOST = 144,     /* ETW_KEEP_MAX, and an eighth more for blocks that are not kept */
	CUT_MAX = SLAB_SIZE / 8,
	LOOK_AT = 8, /* unused blocks, for one of the right size */
};

struct etw_slab {
	size_t used;       /* bytes, these included */
	size_t references; /* its blocks, and one while blocks are cut from it */
};

static void release(struct etw_slab *slab)
{
	if (slab && --slab->references == 0) {
		os_large_free(slab, SLAB_SIZE);
	}
}

/* NULL: the block is too large for a slab, or it is too early, or there are no more slabs. */
static struct etw_block *cut(struct etw_blocks *blocks, size_t size)
{
	struct etw_slab *slab = blocks->slab;
	struct etw_block *block;

	size = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
	if (blocks->allocated_bytes < SLABS_FROM || size > CUT_MAX) {
		return NULL;
	}
	if (!slab || size > SLAB_SIZE - slab->used) {
		slab = blocks->slabs < SLABS_MOST ? os_large_alloc(SLAB_SIZE) : NULL;
		if (!slab) {
			return NULL;
		}
		blocks->slabs++;
		*slab = (struct etw_slab){ .used = sizeof(max_align_t), .references = 1 };
		release(blocks->slab);
		blocks->slab = slab;
	}
	block = (struct etw_block *)(void *)((char *)slab + slab->used);
	block->slab = slab;
	slab->used += size;
	slab->references++;
	return block;
}

static size_t capacity_for(size_t size)
{
	return (size + GRAIN - 1) / GRAIN * GRAIN;
}

size_t etl_block_cost(size_t size)
{
	return sizeof(struct etw_block) + capacity_for(size);
}

struct etw_block *etl_block_get(struct etw_blocks *blocks, size_t size)
{
	size_t capacity = capacity_for(size);
	struct etw_block **link = &blocks->unused, *block;

	/* Most files have buffers of one size, and the last of each processor is shorter. A block
	 * has at most twice the size, so that limits on what blocks cost bound memory, too. */
	for (unsigned i = 0; i < LOOK_AT && *link; i++, link = &(*link)->next) {
		block = *link;
		if (block->capacity >= size && block->capacity / 2 <= capacity) {
			*link = block->next;
			blocks->unused_bytes -= block->capacity;
			return block;
		}
	}
	block = cut(blocks, sizeof *block + capacity);
	if (!block) {
		block = malloc(sizeof *block + capacity);
		if (!block) {
			return NULL;
		}
		block->slab = NULL;
		blocks->allocated_bytes += blocks->allocated_bytes < SLABS_FROM ? capacity : 0;
	}
	block->capacity = capacity;
	return block;
}

void etl_block_free(struct etw_block *block)
{
	if (block && block->slab) {
		release(block->slab);
	} else {
		free(block);
	}
}

void etl_block_put(struct etw_blocks *blocks, struct etw_block *block)
{
	if (!block || blocks->unused_bytes + block->capacity > KEEP_BYTES) {
		etl_block_free(block);
		return;
	}
	block->next = blocks->unused;
	blocks->unused = block;
	blocks->unused_bytes += block->capacity;
}

void etl_blocks_done(struct etw_blocks *blocks)
{
	while (blocks->unused) {
		struct etw_block *next = blocks->unused->next;

		etl_block_free(blocks->unused);
		blocks->unused = next;
	}
	release(blocks->slab);
	*blocks = (struct etw_blocks){ .unused = NULL };
}
