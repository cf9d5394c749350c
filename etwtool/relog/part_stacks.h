/* SPDX-License-Identifier: MIT */
/*
 * Finds the definitions of stacks that a part of a recording needs although they come after its
 * end. A reference means the first definition of its key at or after its own time
 * (include/etw/stack_walk.h).
 */
#ifndef ETWTOOL_RELOG_PART_STACKS_H
#define ETWTOOL_RELOG_PART_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/*
 * Zero-initialise it. Call part_stacks_refer() for all references of the part, then
 * part_stacks_look() for all definitions of the recording, then part_stacks_need(); each in any
 * order. Memory is bounded: when there are too many keys, every definition counts as needed.
 */
struct part_stacks {
	struct map references; /* key -> raw time of its last reference in the part */
	/* key -> raw time of the definition that the last reference means */
	struct map definitions;
	bool full;
	bool no_memory;
};

void part_stacks_refer(struct part_stacks *stacks, uint64_t key, int64_t raw_time);
void part_stacks_look(struct part_stacks *stacks, uint64_t key, int64_t raw_time);

/* Returns whether a definition is the one that the last reference means, or an earlier one. */
bool part_stacks_need(const struct part_stacks *stacks, uint64_t key, int64_t raw_time);

/* Frees the memory; the struct can be used again. */
void part_stacks_done(struct part_stacks *stacks);

#endif
