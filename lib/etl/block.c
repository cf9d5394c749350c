/* SPDX-License-Identifier: MIT */
/*
 * A replay of a compressed recording keeps its unpacked buffers from the first pass to the second
 * (index.c). Touching that much new memory page by page costs about a third of the time of
 * unpacking into it. So after the first few MiB, blocks are cut from slabs of 2 MiB, for each of
 * which the system can use one large page. A slab counts its blocks and is freed with the last one.
 * One small block can therefore keep a whole slab alive, and a hostile recording can make a pass
 * keep only such blocks. So the slabs of a pool are limited to the bytes that a pass may keep, and
 * further blocks come from the C library.
 */
#include "lib/etl/block.h"

#include <stdlib.h>

#include "base/os.h"

enum {
	KEEP_BYTES = 8 << 20,
	GRAIN = 4096,
	SLAB_SIZE = OS_LARGE_PAGE_SIZE,
	SLABS_FROM = 4 << 20, /* bytes from the C library before the first slab; most recordings
				 need none */
	SLABS_MOST = 144, /* slabs for ETL_KEEP_MAX bytes, and an eighth more for blocks that are
			     not kept */
	CUT_MAX = SLAB_SIZE / 8,
	LOOK_AT = 8, /* unused blocks that are checked for the right size */
};

struct etl_slab {
	size_t used;       /* bytes used, with this header */
	size_t references; /* number of its blocks, and one more while blocks are cut from it */
};

static void release(struct etl_slab *slab)
{
	if (slab && --slab->references == 0) {
		os_large_free(slab, SLAB_SIZE);
	}
}

/* Cuts a block from a slab; NULL if the block is too large for a slab, the pool does not use slabs
 * yet, or no more slabs are available. */
static struct etl_block *cut(struct etl_blocks *blocks, size_t size)
{
	struct etl_slab *slab = blocks->slab;
	struct etl_block *block;

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
		*slab = (struct etl_slab){ .used = sizeof(max_align_t), .references = 1 };
		release(blocks->slab);
		blocks->slab = slab;
	}
	block = (struct etl_block *)(void *)((char *)slab + slab->used);
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
	return sizeof(struct etl_block) + capacity_for(size);
}

struct etl_block *etl_block_get(struct etl_blocks *blocks, size_t size)
{
	size_t capacity = capacity_for(size);
	struct etl_block **link = &blocks->unused, *block;

	/* Most files have buffers of one size, except that the last one of each processor is
	 * shorter. A block is reused only if it has at most twice the size that is needed, so that
	 * the limits on bytes in blocks also limit the memory. */
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

void etl_block_free(struct etl_block *block)
{
	if (block && block->slab) {
		release(block->slab);
	} else {
		free(block);
	}
}

void etl_block_put(struct etl_blocks *blocks, struct etl_block *block)
{
	if (!block || blocks->unused_bytes + block->capacity > KEEP_BYTES) {
		etl_block_free(block);
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

		etl_block_free(blocks->unused);
		blocks->unused = next;
	}
	release(blocks->slab);
	*blocks = (struct etl_blocks){ .unused = NULL };
}
