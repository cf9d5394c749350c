/* SPDX-License-Identifier: MIT */
/*
 * Decides which call stacks stay when a filter keeps some events of a recording: the stacks of
 * these events, and the definitions of the keys that they use (include/etw/stack_walk.h).
 */
#ifndef ETWTOOL_RELOG_KEPT_STACKS_H
#define ETWTOOL_RELOG_KEPT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/stack_walk.h>

#include "base/map.h"

struct kept_event; /* private */

/*
 * Zero-initialise it. Its memory is bounded; beyond the bounds too many stacks are kept, never too
 * few.
 */
struct kept_stacks {
	bool named; /* the filter is about StackWalk itself, so the stacks that it keeps stay */

	struct map events;         /* hash of time and thread -> number of the last such event */
	struct kept_event *recent; /* ring of the last kept events; owned */
	uint64_t count;            /* of kept events */
	int64_t forgotten;         /* events up to this raw time may be missing from the map */
	struct map keys;           /* keys referred to, and not defined since */
	bool keys_full;            /* any key may be missing from `keys` */
	bool no_memory;
};

/*
 * Notes an event that stays and is not a StackWalk record. Call this and kept_stacks_keep() in time
 * order.
 */
void kept_stacks_note(struct kept_stacks *stacks, const struct etw_record *record);

/* Returns whether a StackWalk record stays. kept says whether the filter keeps it. */
bool kept_stacks_keep(struct kept_stacks *stacks, const struct etw_record *record, bool kept);

void kept_stacks_done(struct kept_stacks *stacks);

/* ---- stacks of a part ---- */

/*
 * Finds the definitions of stacks that a part of a recording needs although they come after its
 * end. A reference means the first definition of its key at or after its own time
 * (include/etw/stack_walk.h).
 */

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
