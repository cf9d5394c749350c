/* SPDX-License-Identifier: MIT */
#include "metrics/registry_internal.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/os.h"

enum {
	BLOCK_SIZE_MIN = 8 * 1024,
	BLOCK_SIZE_MAX = 64 * 1024,
	PAGES_SIZE_MIN = 32 * 1024, /* size of the smallest piece that gets pages of its own */
};

struct arena_block {
	struct arena_block *older; /* owned */
	size_t pages_size;         /* bytes that came from the system; 0: it is on the heap */
};

/* The C library would write zeros to all of a large block, although parts of it may never be used.
 */
static char *block_new(struct arena *arena, size_t size, bool pages)
{
	struct arena_block *block;

	if (size > SIZE_MAX - sizeof *block) {
		return NULL;
	}
	size += sizeof *block;
	block = pages ? os_pages_alloc(size) : calloc(1, size);
	if (!block) {
		memory_note_loss();
		return NULL;
	}
	block->pages_size = pages ? size : 0;
	block->older = arena->blocks;
	arena->blocks = block;
	return (char *)(block + 1);
}

static size_t padding(const char *at, size_t align)
{
	return (size_t)(-(uintptr_t)at & (align - 1));
}

void *arena_alloc(struct arena *arena, size_t size, size_t align)
{
	char *at;

	if (size > SIZE_MAX / 2) {
		return NULL;
	}
	if (size + align > arena->left) {
		size_t block_size = arena->next_block_size;

		if (block_size == 0) {
			block_size = BLOCK_SIZE_MIN;
		}
		if (size + align > block_size / 4) {
			/* A large piece gets a block of its own; small pieces still come from
			 * the current block. */
			at = block_new(arena, size + align, size >= PAGES_SIZE_MIN);
			return at ? at + padding(at, align) : NULL;
		}
		at = block_new(arena, block_size, false);
		if (!at) {
			return NULL;
		}
		arena->at = at;
		arena->left = block_size;
		arena->next_block_size = block_size < BLOCK_SIZE_MAX ? 2 * block_size : block_size;
	}
	at = arena->at + padding(arena->at, align);
	arena->left -= (size_t)(at + size - arena->at);
	arena->at = at + size;
	return at;
}

void arena_done(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *older = arena->blocks->older;

		if (arena->blocks->pages_size > 0) {
			os_pages_free(arena->blocks, arena->blocks->pages_size);
		} else {
			free(arena->blocks);
		}
		arena->blocks = older;
	}
	*arena = (struct arena){ 0 };
}
