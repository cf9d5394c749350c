/* SPDX-License-Identifier: MIT */
/*
 * The definitions of stacks that a part of a recording needs from behind its time: a reference
 * means the first definition of its key at or after its own time (lib/decode/stack_walk.h).
 */
#ifndef ETWTOOL_RELOG_PART_STACKS_H
#define ETWTOOL_RELOG_PART_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/*
 * Zero-initialise it. First all references of the part, then a look at all definitions of the
 * recording, then the questions, each in any order. Memory is bounded: with more keys than that
 * every definition counts as needed.
 */
struct part_stacks {
	struct map references;  /* key -> raw time of its last reference in the part */
	struct map definitions; /* key -> raw time of the definition that this one means */
	bool full;
	bool no_memory;
};

void part_stacks_refer(struct part_stacks *stacks, uint64_t key, int64_t raw_time);
void part_stacks_look(struct part_stacks *stacks, uint64_t key, int64_t raw_time);

/* Whether a definition is the one that the last reference means, or one before it. */
bool part_stacks_need(const struct part_stacks *stacks, uint64_t key, int64_t raw_time);

/* Frees the memory; afterwards it is as new. */
void part_stacks_done(struct part_stacks *stacks);

#endif
