/* SPDX-License-Identifier: MIT */
#include "metrics/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"

enum { BLOCK_SIZE_MIN = 8 * 1024, BLOCK_SIZE_MAX = 64 * 1024 };

struct arena_block {
	struct arena_block *older; /* owned */
};

static char *block_new(struct arena *arena, size_t size)
{
	struct arena_block *block;

	if (size > SIZE_MAX - sizeof *block) {
		return NULL;
	}
	block = calloc(1, sizeof *block + size);
	if (!block) {
		memory_note_loss();
		return NULL;
	}
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
			at = block_new(arena, size + align);
			return at ? at + padding(at, align) : NULL;
		}
		at = block_new(arena, block_size);
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

		free(arena->blocks);
		arena->blocks = older;
	}
	*arena = (struct arena){ 0 };
}
