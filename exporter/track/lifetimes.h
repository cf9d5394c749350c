/* SPDX-License-Identifier: MIT */
/*
 * Who had a key, and when: instances [start, end] of things whose ids are reused (processes,
 * threads, file keys, file objects).
 *
 * Per key the instances stand in order of their start. An id means something only together with a
 * time: lifetimes_at() gives the latest instance whose start is not after the time and, if there is
 * none, the first, so that a name told by the rundown at the end of a recording reaches the events
 * before it.
 *
 * Changes are told in time order. A recording that does not fit is told twice: what stood there
 * when lifetimes_freeze() was called is recognised the second time and not told again. Times are
 * any clock, the same for all calls.
 *
 * Bounded by a number of instances. Before lifetimes_freeze() or without it: `evict` decides
 * whether a full table makes room, by the instance that ended longest ago or, when none has ended,
 * a key that was not asked for lately, or refuses what is new. Both are counted as evictions.
 *
 * Source: docs/etl-format.md sections 16.2 and 16.3.
 */
#ifndef TRACK_LIFETIMES_H
#define TRACK_LIFETIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define LIFETIME_ALWAYS INT64_MIN /* start: before anything was told */
#define LIFETIME_OPEN   INT64_MAX /* end: still there */

struct lifetime {
	int64_t start;
	int64_t end;
	uint32_t value;  /* what the instance is; 0: not told yet */
	uint32_t serial; /* number of this instance in its table, from 1 */
};

enum lifetime_change {
	LIFETIME_START,  /* a new instance begins */
	LIFETIME_EXISTS, /* rundown: the id exists, since when is not said */
	LIFETIME_STOP,   /* the instance ends */
};

struct lifetimes_key; /* private */

/* Zero-initialise through lifetimes_init(). */
struct lifetimes {
	struct map index;           /* key_mix() -> number in keys */
	struct lifetimes_key *keys; /* owned */
	uint32_t key_count;         /* slots in use or on the free list */
	uint32_t key_capacity;
	uint32_t free; /* first of the free list */
	uint32_t hand; /* where the search for a key that is not used goes on */

	/* Instances that ended, in the order of their ends: a ring of slots. */
	struct lifetimes_end *ends; /* owned */
	uint32_t end_first;
	uint32_t end_count;
	uint32_t end_capacity; /* a power of two, or 0 */

	uint32_t count; /* instances */
	uint32_t limit;
	uint32_t serial;
	bool evict;
	bool frozen;
	uint64_t evictions; /* instances that went, or were refused */

	uint64_t last_key; /* the key asked for last … */
	uint32_t last;     /* … and its slot; UINT32_MAX: none */
};

/* limit: instances, at least 1. */
void lifetimes_init(struct lifetimes *table, uint32_t limit, bool evict);
void lifetimes_done(struct lifetimes *table);

/* Forgets all instances; the count of evictions and the serial numbers go on. */
void lifetimes_clear(struct lifetimes *table);

/* What was told so far will be told again, in time order: from now on it is recognised. A full
 * table makes room from now on. */
void lifetimes_freeze(struct lifetimes *table);

/*
 * Tells one change. value: 0 when not known; an instance without a value takes the first that a
 * later change brings. False when the table is full and the change was refused, or without memory.
 */
bool lifetimes_announce(struct lifetimes *table, enum lifetime_change change, uint64_t key,
			int64_t time, uint32_t value);

/* The instance a key meant at a time; NULL when no change named the key. Valid until the next
 * change. */
const struct lifetime *lifetimes_at(struct lifetimes *table, uint64_t key, int64_t time);

/* The instance that ended at exactly this time; NULL: none. */
const struct lifetime *lifetimes_ended_at(struct lifetimes *table, uint64_t key, int64_t time);

#endif
