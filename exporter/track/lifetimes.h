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

/* ---- lifetimes ---- */

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
	size_t key_capacity;
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

/* ---- timeline ---- */

/*
 * Lifetimes of one kind of thing, told in any order first (look-ahead) or in time order only.
 *
 * A recording is looked through in file order, which is not time order. The changes are kept as
 * they come, compactly, and sorted at the end; ties keep file order. When none had to be refused
 * the lifetimes are complete, and telling the same changes again does nothing. Else they are told
 * again, and recognised where they got through.
 */
struct timeline_change {
	int64_t time;
	uint64_t key;
	uint32_t value;
	uint32_t order; /* number in file order << 2 | enum lifetime_change */
};

struct timeline {
	struct lifetimes table;
	struct timeline_change *changes; /* owned; while looking ahead */
	size_t count;
	size_t capacity;
	size_t most;    /* changes */
	size_t refused; /* changes that did not get into the table the first time */
	bool in_first_pass;
	bool complete;
};

/* limit: instances, and a few times as many changes. */
void timeline_init(struct timeline *timeline, uint32_t limit);
void timeline_done(struct timeline *timeline);
void timeline_clear(struct timeline *timeline);

/* From here to timeline_sort() changes are kept. The first call of a pass does it; later ones do
 * nothing. */
void timeline_begin_first_pass(struct timeline *timeline);

/* False: refused, counted as an eviction. Complete timelines ignore it. */
bool timeline_announce(struct timeline *timeline, enum lifetime_change change, uint64_t key,
		       int64_t time, uint32_t value);

static inline enum lifetime_change timeline_change_of(const struct timeline_change *change)
{
	return (enum lifetime_change)(change->order & 3);
}

/* Brings the changes into time order, where the caller may still alter values in place; then
 * timeline_build(). */
void timeline_sort(struct timeline *timeline);

/* Tells the sorted changes to the table and forgets them. */
void timeline_build(struct timeline *timeline);

#endif
