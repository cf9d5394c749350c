/* SPDX-License-Identifier: MIT */
/*
 * The call stacks that stay when a filter keeps some events of a recording: the stacks of these
 * events, and the definitions of the keys that they name (lib/decode/stack_walk.h).
 */
#ifndef ETWTOOL_RELOG_KEPT_STACKS_H
#define ETWTOOL_RELOG_KEPT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/stack_walk.h>

#include "base/map.h"

struct kept_event; /* private */

/* Zero-initialise it. Its memory is bounded; at the bounds a stack stays rather than being lost. */
struct kept_stacks {
	bool named; /* the filter is about StackWalk itself: what it keeps of it stays */

	struct map events;         /* hash of time and thread -> number of the last such event */
	struct kept_event *recent; /* owned; a ring of the last kept events */
	uint64_t count;            /* of kept events */
	int64_t forgotten;         /* events up to this raw time may be forgotten */
	struct map keys;           /* referred to, and not defined since */
	bool keys_full;            /* any key may be one of these */
	bool no_memory;
};

/* An event that stays, which is not of StackWalk. Call these two in time order. */
void kept_stacks_note(struct kept_stacks *stacks, const struct etw_record *record);

/* Whether a record of StackWalk stays. kept: the filter keeps it. */
bool kept_stacks_keep(struct kept_stacks *stacks, const struct etw_record *record, bool kept);

void kept_stacks_done(struct kept_stacks *stacks);

#endif
