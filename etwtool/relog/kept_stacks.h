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

#endif
