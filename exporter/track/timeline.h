/* SPDX-License-Identifier: MIT */
/*
 * Lifetimes of one kind of thing, told in any order first (look-ahead) or in time order only.
 *
 * A recording is looked through in file order, which is not time order. The changes are kept as
 * they come, compactly, and sorted at the end; ties keep file order. When none had to be refused
 * the lifetimes are complete, and telling the same changes again does nothing. Else they are told
 * again, and recognised where they got through.
 */
#ifndef TRACK_TIMELINE_H
#define TRACK_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/lifetimes.h"

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
