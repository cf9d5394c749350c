/* SPDX-License-Identifier: MIT */
/*
 * Memory that lives as long as the registry: zeroed, aligned, never freed one by one.
 *
 * What readers walk without a lock must stay where it is, so the registry frees nothing before its
 * end. Small pieces share blocks; a big one gets a block of its own, of which the system only
 * commits the pages that are touched.
 */
#ifndef METRICS_ARENA_H
#define METRICS_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zero-initialise it. One thread at a time. */
struct arena {
	struct arena_block *blocks; /* owned */
	char *at;                   /* in the block being filled */
	size_t left;
	size_t next_block_size;
};

/* align: a power of two, at most 64. NULL without memory. */
void *arena_alloc(struct arena *arena, size_t size, size_t align);
void arena_done(struct arena *arena);

#endif
