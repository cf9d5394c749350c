/* SPDX-License-Identifier: MIT */
/*
 * Changes of lifetimes, kept in file order and told in time order.
 */
#include "track/timeline.h"

#include <stdlib.h>

enum { CHANGES_PER_INSTANCE = 4, ORDER_MOST = (1 << 30) - 1 };

void timeline_init(struct timeline *timeline, uint32_t limit)
{
	*timeline = (struct timeline){ .most = (size_t)limit * CHANGES_PER_INSTANCE };
	if (timeline->most > ORDER_MOST) {
		timeline->most = ORDER_MOST;
	}
	lifetimes_init(&timeline->table, limit, true);
}

static void forget_changes(struct timeline *timeline)
{
	free(timeline->changes);
	timeline->changes = NULL;
	timeline->count = 0;
	timeline->capacity = 0;
}

void timeline_done(struct timeline *timeline)
{
	forget_changes(timeline);
	lifetimes_done(&timeline->table);
}

void timeline_clear(struct timeline *timeline)
{
	forget_changes(timeline);
	lifetimes_clear(&timeline->table);
	timeline->table.evict = true;
	timeline->refused = 0;
	timeline->in_first_pass = false;
	timeline->complete = false;
}

void timeline_begin_first_pass(struct timeline *timeline)
{
	timeline->in_first_pass = true;
	timeline->table.evict = false;
}

static bool keep(struct timeline *timeline, enum lifetime_change change, uint64_t key, int64_t time,
		 uint32_t value)
{
	if (timeline->count == timeline->capacity) {
		size_t capacity = timeline->capacity ? 2 * timeline->capacity : 256;
		struct timeline_change *changes = NULL;

		if (capacity > timeline->most) {
			capacity = timeline->most;
		}
		if (capacity > timeline->count) {
			changes = realloc(timeline->changes, capacity * sizeof *changes);
		}
		if (!changes) {
			timeline->refused++;
			timeline->table.evictions++;
			return false;
		}
		timeline->changes = changes;
		timeline->capacity = capacity;
	}
	timeline->changes[timeline->count] =
		(struct timeline_change){ time, key, value,
					  (uint32_t)timeline->count << 2 | (uint32_t)change };
	timeline->count++;
	return true;
}

bool timeline_announce(struct timeline *timeline, enum lifetime_change change, uint64_t key,
		       int64_t time, uint32_t value)
{
	if (timeline->complete) {
		return true;
	}
	if (timeline->in_first_pass) {
		return keep(timeline, change, key, time, value);
	}
	return lifetimes_announce(&timeline->table, change, key, time, value);
}

static int by_time(const void *left, const void *right)
{
	const struct timeline_change *a = left, *b = right;

	if (a->time != b->time) {
		return a->time < b->time ? -1 : 1;
	}
	return a->order < b->order ? -1 : a->order > b->order;
}

void timeline_sort(struct timeline *timeline)
{
	if (timeline->count > 1) {
		qsort(timeline->changes, timeline->count, sizeof *timeline->changes, by_time);
	}
}

void timeline_build(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->count; i++) {
		const struct timeline_change *change = &timeline->changes[i];

		if (!lifetimes_announce(&timeline->table, timeline_change_of(change), change->key,
					change->time, change->value)) {
			timeline->refused++;
		}
	}
	forget_changes(timeline);
	timeline->in_first_pass = false;
	timeline->complete = timeline->refused == 0;
	lifetimes_freeze(&timeline->table);
}
