/* SPDX-License-Identifier: MIT */
/*
 * The processes that StackWalk records name, for samples of threads that no event announces. Only
 * one consumer uses it, so it has no lock.
 *
 * Windows writes the stack of an event as a record of its own behind it, with the thread, the time
 * of the event, and the process that the thread worked for. A recording may have stacks although it
 * lacks the thread's start and rundown. A first pass collects them, because the stack comes after
 * its sample.
 *
 * Source: docs/etl-format.md section 16.1.
 */
#ifndef TRACK_STACK_OWNERS_H
#define TRACK_STACK_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* Zero-initialise it and set `limit`. */
struct stack_owners {
	struct map processes; /* thread and time -> thread id << 32 | process id */
	size_t limit;         /* the most stacks that are kept */
	uint64_t refused;     /* stacks of this pass that were beyond the limit */
	uint64_t evictions;   /* refused stacks of all passes whose processes may be missing */
};

/* Adds the stack of an event that the thread wrote at a raw time. process_id: from the stack. */
void stack_owners_add(struct stack_owners *owners, uint32_t thread_id, int64_t time,
		      uint32_t process_id);

/* Ends a first pass: keeps only stacks of threads that are still unknown, and frees the others.
 * If no such stack exists, refused stacks do not count as evictions. */
void stack_owners_keep(struct stack_owners *owners,
		       bool (*is_unknown)(void *context, uint32_t thread_id), void *context);

/* Returns the process id of the thread's event at a raw time; ETW_RECORD_NO_ID if it has no
 * stack here. */
uint32_t stack_owners_find(const struct stack_owners *owners, uint32_t thread_id, int64_t time);

void stack_owners_clear(struct stack_owners *owners); /* frees all memory */

#endif
