/* SPDX-License-Identifier: MIT */
/*
 * Memory that is valid as long as the registry: zeroed, aligned, freed only as a whole.
 *
 * Readers use memory without a lock, so it must not move, and the registry frees nothing before its
 * end. Small pieces share blocks. A large piece has its own block, of which the system commits only
 * the pages that are used.
 */
#ifndef METRICS_ARENA_H
#define METRICS_ARENA_H

#include <stddef.h>

/* Zero-initialise it. One thread at a time. */
struct arena {
	struct arena_block *blocks; /* owned */
	char *at;                   /* in the block being filled */
	size_t left;
	size_t next_block_size;
};

/* align: a power of two, at most 64. NULL without memory. */
void *arena_alloc(struct arena *arena, size_t size, size_t align);

/* Frees all that was allocated. */
void arena_done(struct arena *arena);

#endif
