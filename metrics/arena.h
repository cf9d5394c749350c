/* SPDX-License-Identifier: MIT */
/*
 * Memory that is valid until the registry is freed: zeroed, aligned, freed only as a whole.
 *
 * Readers use this memory without a lock, so it must not move, and nothing is freed before the
 * registry is. Small pieces share blocks. A large piece has pages of its own, of which the system
 * adds only those that are used.
 */
#ifndef METRICS_ARENA_H
#define METRICS_ARENA_H

#include <stddef.h>

/* Zero-initialise it. Only one thread may use it at a time. */
struct arena {
	struct arena_block *blocks; /* owned */
	char *at;                   /* free memory of the current block */
	size_t left;
	size_t next_block_size;
};

/* Returns zeroed memory that the arena owns; NULL without memory. size: bytes. align: a power of
 * two, at most 64. */
void *arena_alloc(struct arena *arena, size_t size, size_t align);

/* Frees everything that was allocated. */
void arena_done(struct arena *arena);

#endif
