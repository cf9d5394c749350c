/* SPDX-License-Identifier: MIT */
/*
 * Lifetimes: which instance an id meant at a time. Windows reuses the ids of processes, threads,
 * file keys and file objects, so an id identifies something only together with a time. Each
 * instance covers the times [start, end].
 *
 * struct lifetimes is the table of instances. The instances of a key are sorted by their start.
 * lifetimes_at() returns the latest instance that does not start after the time. If there is none,
 * it returns the first instance, so that a name from the rundown at the end of a recording also
 * applies to the events before it. Times may be of any clock, if it is the same for all calls.
 *
 * Changes are announced in time order, but a live session may deliver one up to a flush interval
 * late. A late change is inserted among the instances of its key by its time: a stop ends the
 * instance of its time and not a newer one, and a start or a rundown record names the events
 * between.
 *
 * struct timeline feeds such a table. In the first pass of a recording, changes arrive in file
 * order, which is not time order: the timeline keeps them in a compact array and sorts them at the
 * end. If no change was refused, the table is complete and ignores the same changes in the second
 * pass. Otherwise the second pass announces them again, and the table recognises those that it
 * already has. Without a first pass (live, single pass) a timeline only forwards changes.
 *
 * Both are bounded by a number of instances. `evict` decides what a full table does before it is
 * frozen: it makes room, or it refuses new instances. It makes room by dropping the instance that
 * ended longest ago or, if none has ended, a key that was not looked up recently. Both count as
 * evictions, except for an instance that ended so long ago that no event can mean it
 * any more: a table of file objects is always full of those, and nothing is lost with them.
 *
 * Source: docs/etl-format.md sections 16.2 and 16.3.
 */
#ifndef TRACK_LIFETIMES_H
#define TRACK_LIFETIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* ---- the table ---- */

#define LIFETIME_ALWAYS INT64_MIN /* start: before the first change of the key */
#define LIFETIME_OPEN   INT64_MAX /* end: not ended yet */

struct lifetime {
	int64_t start;
	int64_t end;
	uint32_t value;       /* the name or owner of the instance; 0: not known yet */
	uint32_t serial : 31; /* number of this instance in its table, from 1 */
	uint32_t started : 1; /* its start was announced; otherwise start is a guess */
};

enum lifetime_change {
	LIFETIME_START,  /* a new instance begins */
	LIFETIME_EXISTS, /* rundown: the instance exists; its start is unknown */
	LIFETIME_STOP,   /* the instance ends */
};

struct lifetimes_key; /* private */

/* Initialise it with lifetimes_init(). Only one consumer may use it: it has no lock. */
struct lifetimes {
	struct map index;           /* key -> index in keys */
	struct lifetimes_key *keys; /* owned */
	uint32_t key_count;         /* slots in use or on the free list */
	size_t key_capacity;
	uint32_t free; /* first slot of the free list */
	uint32_t hand; /* CLOCK eviction: the next slot to examine */

	/* A ring of the instances that have ended, in the order of their ends. */
	struct lifetimes_end *ends; /* owned */
	uint32_t end_first;
	uint32_t end_count;
	uint32_t end_capacity; /* a power of two, or 0 */

	uint32_t count; /* instances that the table has */
	uint32_t limit;
	uint32_t serial;
	bool evict;
	/* The owner sets it at the end of a first pass: the table then recognises the changes
	 * that it already has, which will be announced again in time order, and makes room when
	 * it is full. */
	bool frozen;
	/* How long after its end an event may still mean an instance, in the ticks of the times.
	 * The owner sets it. UINT64_MAX: for ever. */
	uint64_t grace_ticks;
	uint64_t evictions; /* instances that were dropped or refused although an event may still
			       mean them */
	/* Rises when an instance is dropped, and when the table is cleared or built. While it
	 * does not rise, an announcement changes only the look-ups of its own key, and a key
	 * that was looked up still counts as looked up recently. */
	uint64_t drops;

	uint64_t last_key; /* the key of the last look-up … */
	uint32_t last;     /* … and its slot; UINT32_MAX: none */
};

/* limit: the most instances, at least 1. evict: whether a full table makes room; see above. */
void lifetimes_init(struct lifetimes *table, uint32_t limit, bool evict);

/* Drops all instances and frees their memory; the table can be used again. The count of evictions
 * and the serial numbers continue. */
void lifetimes_clear(struct lifetimes *table);

/*
 * Announces one change. value: 0 if it is not known; an instance without a value takes the first
 * value of a later change. Returns false if the table is full and refused the change, or without
 * memory.
 */
bool lifetimes_announce(struct lifetimes *table, enum lifetime_change change, uint64_t key,
			int64_t time, uint32_t value);

/* Returns the instance that a key meant at a time; NULL if no change named the key. It is valid
 * until the next change. */
const struct lifetime *lifetimes_at(struct lifetimes *table, uint64_t key, int64_t time);

/* As lifetimes_at(). Sets *from and *to: the instance is that of the key at all times from *from
 * to *to, both included, until a change of the key or a rise of table->drops. If it returns
 * NULL, both are unchanged. */
const struct lifetime *lifetimes_during(struct lifetimes *table, uint64_t key, int64_t time,
					int64_t *from, int64_t *to);

/* Calls visit for each instance, in no particular order. visit must not change the table. */
void lifetimes_each(const struct lifetimes *table,
		    void (*visit)(void *context, uint64_t key, const struct lifetime *instance),
		    void *context);

/* Returns whether the latest instance of the key has not ended. */
bool lifetimes_running(struct lifetimes *table, uint64_t key);

/* Calls visit for each key with an instance that has begun and not ended at the time. visit must
 * not change the table. */
void lifetimes_each_at(const struct lifetimes *table, int64_t time,
		       void (*visit)(void *context, uint64_t key, const struct lifetime *instance),
		       void *context);

/* Returns the instance of the key that ended at exactly this time; NULL if there is none. */
const struct lifetime *lifetimes_ended_at(struct lifetimes *table, uint64_t key, int64_t time);

/* ---- changes in file order ---- */

struct timeline_change {
	int64_t time;
	uint64_t key;
	uint32_t value;
	uint32_t order; /* position in file order << 2 | enum lifetime_change */
};

struct timeline {
	struct lifetimes table;
	struct timeline_change *changes; /* owned; the changes of the first pass */
	size_t count;
	size_t capacity;
	size_t most;    /* the most changes that are kept */
	size_t refused; /* changes of the first pass that are not in the table */
	bool sorted;    /* the changes are in time order */
	bool in_first_pass;
	bool complete;
};

/* limit: the most instances; the limit of changes is four times as high. */
void timeline_init(struct timeline *timeline, uint32_t limit);
void timeline_clear(struct timeline *timeline); /* clears the table, as lifetimes_clear() does, and
						   the changes */
/* Changes the limit of instances. Instances above a lower limit stay, and each new one evicts
 * one. */
void timeline_set_limit(struct timeline *timeline, uint32_t limit);

/* Begins to keep changes, until timeline_sort(). It may be called again in the same pass. */
void timeline_begin_first_pass(struct timeline *timeline);

/* Announces one change. Returns false if it was refused and counted as an eviction. A complete
 * timeline ignores it and returns true. */
bool timeline_announce(struct timeline *timeline, enum lifetime_change change, uint64_t key,
		       int64_t time, uint32_t value);

static inline enum lifetime_change timeline_change_of(const struct timeline_change *change)
{
	return (enum lifetime_change)(change->order & 3);
}

/* Moves the changes of the first pass to another timeline that is in its first pass. */
void timeline_move(struct timeline *from, struct timeline *to);

/* Sorts the changes by time, for a caller that alters their values before timeline_build(). */
void timeline_sort(struct timeline *timeline);

/* Sorts the changes if necessary, announces them to the table and frees them. */
void timeline_build(struct timeline *timeline);

#endif
