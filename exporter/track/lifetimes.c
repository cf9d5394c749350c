/* SPDX-License-Identifier: MIT */
/*
 * The table of lifetimes, and the timeline that brings changes into time order.
 *
 * Almost every event looks up a thread, a process or a file here, so the table is built for fast
 * look-ups. A hash map leads from the key to a slot. Most keys have exactly one instance, which is
 * stored in the slot itself; the members that a look-up reads are adjacent, mostly in one cache
 * line. File objects can have hundreds of instances; these are in a sorted array of their own,
 * which grows at its end and shrinks at its front, both in constant time on average. Each slot
 * remembers the instance that was found last, and a search starts there, because records arrive in
 * time order and the next look-up usually finds the same instance or the next one.
 *
 * Instances that ended are also queued, in the order in which they ended, so that a full table
 * drops the one that ended longest ago. A queue entry can be out of date, since a slot may be
 * reused for another key; the serial number detects this. If no instance has ended, a CLOCK hand
 * drops a key that was not looked up since the hand last passed it.
 *
 * A late change, one that is older than the latest start or end of its key, may have to insert an
 * instance before others of its key. Only the last places of the array are searched, because late
 * changes are late by a second at most, and because a hostile recording must not make the table
 * move long arrays. The queue of ends is then no longer sorted; evict_ended() first drops the
 * instances that precede the one in question.
 *
 * A frozen table was built in the first pass of a recording. It contains all changes that fitted,
 * also those after the present time. Announcing the same changes again must not alter it: shown()
 * detects them. Eviction must not drop instances that end after the present time, because the
 * second pass still needs them.
 */
#include "exporter/track/lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include <etw/record.h>

#include "base/array.h"
#include "base/memory.h"

/* ---- look-up ---- */

/* A look-up of a key with one instance reads only the members from one.value to hint. */
struct lifetimes_key {
	struct lifetime one;   /* the only instance, while `many` is NULL */
	struct lifetime *many; /* owned; a sorted array whose instances start at index first */
	uint32_t count;        /* instances; 0: the slot is free */
	uint32_t hint : 31;    /* instance found last; in a free slot: the next free slot */
	uint32_t used : 1;     /* looked up since the CLOCK hand last passed */
	uint32_t first;
	uint32_t capacity;
	uint64_t key;
};

#define SERIAL_MOST UINT32_C(0x7fffffff)

struct lifetimes_end {
	uint32_t slot;
	uint32_t serial;
};

enum {
	NO_SLOT = 0x7fffffff, /* fits into hint */
	STEPS = 8,            /* instances to step over before a binary search */
	TIES = 16,            /* instances of one tick to examine */
	LATE_MOST = 64,       /* a late change is inserted before at most this many instances */
	ARRAY_LEAST = 4,      /* capacity of a new array */
};

static struct lifetime *items(struct lifetimes_key *slot)
{
	return slot->many ? slot->many + slot->first : &slot->one;
}

static struct lifetime *last_item(struct lifetimes_key *slot)
{
	return items(slot) + slot->count - 1;
}

static struct lifetimes_key *find_key(struct lifetimes *table, uint64_t key)
{
	uint64_t *number;

	if (table->last_key == key && table->last != UINT32_MAX) {
		return &table->keys[table->last];
	}
	number = map_find(&table->index, key);
	if (!number) {
		return NULL;
	}
	table->last_key = key;
	table->last = (uint32_t)*number;
	return &table->keys[*number];
}

/* Returns the index of the latest instance that did not begin after time; count if there is
 * none. */
static uint32_t latest(struct lifetimes_key *slot, int64_t time)
{
	const struct lifetime *item = items(slot);
	uint32_t at = slot->hint;
	uint32_t low = 0, high = slot->count;

	if (at < high && item[at].start <= time) {
		for (unsigned step = 0; step < STEPS; step++) {
			if (at + 1 == high || item[at + 1].start > time) {
				slot->hint = at & NO_SLOT;
				return at;
			}
			at++;
		}
		low = at;
	} else if (at < high) {
		high = at;
	}
	/* Finds the first instance of [low, high) that began after time. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (item[middle].start <= time) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (low == 0) {
		return slot->count;
	}
	slot->hint = (low - 1) & NO_SLOT;
	return low - 1;
}

/* Returns the index of the instance that the key meant at a time: the latest one that did not
 * begin after it, otherwise the first one. */
static inline uint32_t meant(struct lifetimes_key *slot, int64_t time)
{
	uint32_t at = slot->count == 1 ? 0 : latest(slot, time);

	slot->used = 1;
	return at == slot->count ? 0 : at;
}

const struct lifetime *lifetimes_at(struct lifetimes *table, uint64_t key, int64_t time)
{
	struct lifetimes_key *slot = find_key(table, key);

	return slot ? items(slot) + meant(slot, time) : NULL;
}

const struct lifetime *lifetimes_during(struct lifetimes *table, uint64_t key, int64_t time,
					int64_t *from, int64_t *to)
{
	struct lifetimes_key *slot = find_key(table, key);
	const struct lifetime *instance;
	uint32_t at;

	if (!slot) {
		return NULL;
	}
	at = meant(slot, time);
	instance = items(slot) + at;
	/* The first instance also covers all times before its start. */
	*from = at == 0 ? INT64_MIN : instance->start;
	*to = at + 1 == slot->count ? INT64_MAX : instance[1].start - 1;
	return instance;
}

void lifetimes_each_at(const struct lifetimes *table, int64_t time,
		       void (*visit)(void *context, uint64_t key, const struct lifetime *instance),
		       void *context)
{
	for (uint32_t i = 0; i < table->key_count; i++) {
		struct lifetimes_key *slot = &table->keys[i];
		uint32_t at = slot->count > 0 ? latest(slot, time) : slot->count;

		if (at < slot->count && items(slot)[at].end > time) {
			visit(context, slot->key, &items(slot)[at]);
		}
	}
}

/* ---- making room ---- */

static void remove_key(struct lifetimes *table, struct lifetimes_key *slot)
{
	uint32_t number = (uint32_t)(slot - table->keys);

	map_remove(&table->index, slot->key);
	free(slot->many);
	*slot = (struct lifetimes_key){ .hint = table->free & NO_SLOT };
	table->free = number;
	table->drops++;
	if (table->last == number) {
		table->last = UINT32_MAX;
	}
}

/* Halves an array that is mostly unused: a key that was reused often for a while would otherwise
 * keep all its memory, beyond the limit of the table. */
static void shrink(struct lifetimes_key *slot)
{
	uint32_t capacity = slot->capacity / 2;
	struct lifetime *many;

	if (!slot->many || capacity < ARRAY_LEAST || slot->count > slot->capacity / 8) {
		return;
	}
	many = malloc(capacity * sizeof *many);
	if (!many) {
		return; /* without memory the array stays as it is */
	}
	memcpy(many, slot->many + slot->first, slot->count * sizeof *many);
	free(slot->many);
	slot->many = many;
	slot->first = 0;
	slot->capacity = capacity;
}

static void remove_first(struct lifetimes *table, struct lifetimes_key *slot)
{
	table->count--;
	if (slot->count == 1) {
		remove_key(table, slot);
		return;
	}
	table->drops++;
	slot->first++;
	slot->count--;
	slot->hint = slot->hint > 0 ? (slot->hint - 1) & NO_SLOT : 0;
	shrink(slot);
}

/* Returns whether the instance is among the first STEPS of its key. */
static bool among_first(struct lifetimes_key *slot, uint32_t serial)
{
	for (uint32_t i = 0; i < slot->count && i < STEPS; i++) {
		if (items(slot)[i].serial == serial) {
			return true;
		}
	}
	return false;
}

/* Returns whether an event that comes now or later may still mean the instance. */
static bool may_be_meant(const struct lifetimes *table, const struct lifetime *item, int64_t now)
{
	return etw_time_between(item->end, now) <= table->grace_ticks;
}

/* Drops the instance that ended longest ago. Returns false if none has ended before now. */
static bool evict_ended(struct lifetimes *table, int64_t now)
{
	while (table->end_count > 0 && table->keys) {
		struct lifetimes_end end = table->ends[table->end_first];
		struct lifetimes_key *slot = &table->keys[end.slot];

		/* The slot may belong to another key now. */
		bool first = slot->count > 0 && items(slot)->serial == end.serial;
		bool dropped = first || among_first(slot, end.serial);

		if (dropped) {
			if (table->frozen && items(slot)->end > now) {
				return false;
			}
			table->evictions += may_be_meant(table, items(slot), now);
			remove_first(table, slot);
		}
		/* If the first instance was dropped in place of the queued one, the entry stays. */
		if (first || !dropped) {
			table->end_first = (table->end_first + 1) & (table->end_capacity - 1);
			table->end_count--;
		}
		if (dropped) {
			return true;
		}
	}
	return false;
}

/* CLOCK eviction: drops a key that was not looked up since the hand last passed it. */
static bool evict_unused(struct lifetimes *table)
{
	for (uint64_t steps = 2 * (uint64_t)table->key_count; steps > 0 && table->keys; steps--) {
		struct lifetimes_key *slot;

		if (table->hand >= table->key_count) {
			table->hand = 0;
		}
		slot = &table->keys[table->hand++];
		if (slot->count == 0) {
			continue;
		}
		if (slot->used) {
			slot->used = 0;
			continue;
		}
		table->evictions += slot->count;
		table->count -= slot->count;
		remove_key(table, slot);
		return true;
	}
	return false;
}

static bool make_room(struct lifetimes *table, int64_t now)
{
	if (table->count < table->limit) {
		return true;
	}
	if (!table->evict && !table->frozen) {
		return false;
	}
	if (evict_ended(table, now)) {
		return true;
	}
	/* The instances still in the queue end after now: they come from the first pass, and the
	 * second pass needs them. */
	return table->end_count == 0 && evict_unused(table);
}

/* ---- adding ---- */

static struct lifetimes_key *new_key(struct lifetimes *table, uint64_t key)
{
	struct lifetimes_key *slot;
	uint64_t *number;
	uint32_t free_slot = table->free;

	if (free_slot == NO_SLOT) {
		struct lifetimes_key *keys = NULL;

		if (table->key_count < NO_SLOT) {
			keys = array_grow(table->keys, &table->key_capacity, table->key_count,
					  sizeof *keys);
		}
		if (!keys) {
			return NULL;
		}
		table->keys = keys;
		free_slot = table->key_count;
	}
	number = map_put(&table->index, key, NULL);
	if (!number) {
		return NULL;
	}
	*number = free_slot;
	slot = &table->keys[free_slot];
	if (free_slot == table->key_count) {
		table->key_count++;
	} else {
		table->free = slot->hint;
	}
	*slot = (struct lifetimes_key){ .key = key, .used = 1 };
	return slot;
}

/* Makes room for one more instance at the end of a key's array. */
static bool grow(struct lifetimes_key *slot)
{
	uint32_t capacity;
	struct lifetime *many;

	if (slot->count == 0 || (slot->many && slot->first + slot->count < slot->capacity)) {
		return true;
	}
	if (slot->many && slot->first >= slot->capacity / 2) {
		memmove(slot->many, slot->many + slot->first, slot->count * sizeof *slot->many);
		slot->first = 0;
		return true;
	}
	capacity = slot->many ? 2 * slot->capacity : ARRAY_LEAST;
	many = realloc(slot->many, capacity * sizeof *many);
	if (!many) {
		memory_note_loss();
		return false;
	}
	if (!slot->many) {
		many[0] = slot->one;
		slot->first = 0;
	}
	slot->many = many;
	slot->capacity = capacity;
	return true;
}

/* Queues an instance that has ended for evict_ended(). Without memory it is not queued, so it
 * only stays in the table longer. */
static void queue_end(struct lifetimes *table, struct lifetimes_key *slot,
		      const struct lifetime *item)
{
	if (table->end_count == table->end_capacity) {
		uint32_t capacity = table->end_capacity ? 2 * table->end_capacity : 64;
		struct lifetimes_end *ends = malloc(capacity * sizeof *ends);

		if (!ends) {
			return;
		}
		for (uint32_t i = 0; i < table->end_count; i++) {
			ends[i] = table->ends[(table->end_first + i) & (table->end_capacity - 1)];
		}
		free(table->ends);
		table->ends = ends;
		table->end_first = 0;
		table->end_capacity = capacity;
	}
	table->ends[(table->end_first + table->end_count) & (table->end_capacity - 1)] =
		(struct lifetimes_end){ (uint32_t)(slot - table->keys), item->serial };
	table->end_count++;
}

static void end_item(struct lifetimes *table, struct lifetimes_key *slot, struct lifetime *item,
		     int64_t time)
{
	item->end = time > item->start ? time : item->start;
	queue_end(table, slot, item);
}

static uint32_t next_serial(struct lifetimes *table)
{
	table->serial = (table->serial + 1) & SERIAL_MOST;
	table->serial += table->serial == 0;
	return table->serial;
}

/* Adds an instance after the last one of its key, which ends where the new one begins. Returns
 * NULL if there is no room. */
static struct lifetimes_key *add_key(struct lifetimes *table, uint64_t key, int64_t start,
				     int64_t now, uint32_t value, bool started)
{
	struct lifetimes_key *slot;

	if (!make_room(table, now)) {
		table->evictions++;
		return NULL;
	}
	slot = find_key(table, key); /* after make_room(), which may free the slot of this key */
	if (!slot) {
		slot = new_key(table, key);
	}
	if (slot && slot->count > 0 && last_item(slot)->end == LIFETIME_OPEN) {
		end_item(table, slot, last_item(slot), start);
	}
	if (!slot || !grow(slot)) {
		return NULL;
	}
	slot->count++;
	table->count++;
	*last_item(slot) = (struct lifetime){ .start = start,
					      .end = LIFETIME_OPEN,
					      .value = value,
					      .serial = next_serial(table) & SERIAL_MOST,
					      .started = started };
	return slot;
}

/* ---- announcing ---- */

/* Returns the instance that ended at the time, from instance `at` and those before it that began
 * in the same tick; NULL if there is none. */
static const struct lifetime *ended_at(struct lifetimes_key *slot, uint32_t at, int64_t time)
{
	for (unsigned tie = 0; tie <= at && tie < TIES; tie++) {
		const struct lifetime *item = items(slot) + at - tie;

		if (item->end == time) {
			return item;
		}
		if (item->start < time) {
			break;
		}
	}
	return NULL;
}

/* Returns whether a frozen table already contains this change, or a later one of the key. */
static bool shown(struct lifetimes_key *slot, enum lifetime_change change, int64_t time,
		  uint32_t value)
{
	uint32_t at = latest(slot, time);
	struct lifetime *item = items(slot) + at;
	bool is_last = at + 1 == slot->count;

	if (at == slot->count) {
		return true;
	}
	switch (change) {
	case LIFETIME_START:
		return item->start == time || !is_last;
	case LIFETIME_EXISTS:
		if (item->end >= time && item->start < time && item->value == 0) {
			item->value = value;
		}
		return item->end >= time || !is_last;
	case LIFETIME_STOP:
		return ended_at(slot, at, time) || !is_last ||
		       (item->end > time && item->end != LIFETIME_OPEN);
	}
	return true;
}

/* Returns whether the change is older than the latest start or end of its key. */
static bool is_late(const struct lifetime *last, int64_t time)
{
	return time < last->start || (last->end != LIFETIME_OPEN && time < last->end);
}

/* Applies a late change to the instance whose time it is in. Returns false if the change begins
 * another instance. next: the instance that follows, or NULL. */
static bool change_late(struct lifetime *item, const struct lifetime *next,
			enum lifetime_change change, int64_t time, uint32_t value)
{
	switch (change) {
	case LIFETIME_START:
		if (item->started && item->start != time) {
			return false;
		}
		item->start = time;
		item->started = 1;
		/* The name of a start takes precedence over other names. */
		item->value = value == 0 ? item->value : value;
		break;
	case LIFETIME_EXISTS:
		break;
	case LIFETIME_STOP:
		if (!next || next->start != item->end) {
			return false; /* the instance has ended at another time, so there is another
					 one */
		}
		item->end = time;
		break;
	}
	item->value = item->value == 0 ? value : item->value;
	return true;
}

/* Returns the instance that a late change inserts between two others, either of which may be
 * NULL. If `before` covers the time of the change, it then ends there. */
static struct lifetime late_instance(struct lifetime *before, const struct lifetime *next,
				     enum lifetime_change change, int64_t time, uint32_t value)
{
	struct lifetime item = { .start = before ? before->end : LIFETIME_ALWAYS,
				 .end = next ? next->start : LIFETIME_OPEN,
				 .value = value };

	if (before && time < before->end) {
		/* Two starts, or two stops, mean two instances. A name that did not come with
		 * the start came with the stop. */
		item.start = time;
		item.end = before->end;
		before->end = time;
		if (change == LIFETIME_START) {
			item.started = 1;
		} else if (before->started) {
			item.value = 0;
		} else {
			item.value = before->value;
			before->value = value;
		}
	} else if (change == LIFETIME_START) {
		item.start = time;
		item.started = 1;
	} else if (change == LIFETIME_STOP) {
		item.end = time;
	}
	return item;
}

/* Returns the index of the first instance that began after time. */
static uint32_t place_after(struct lifetimes_key *slot, int64_t time)
{
	uint32_t at = latest(slot, time);

	return at == slot->count ? 0 : at + 1;
}

static bool announce_late(struct lifetimes *table, struct lifetimes_key *slot,
			  enum lifetime_change change, uint64_t key, int64_t time, uint32_t value)
{
	uint32_t place = place_after(slot, time);
	struct lifetime *before = place > 0 ? items(slot) + place - 1 : NULL;
	struct lifetime *next = place < slot->count ? items(slot) + place : NULL;

	if (slot->count - place > LATE_MOST ||
	    (before && time < before->end && change_late(before, next, change, time, value))) {
		return true;
	}
	if (!make_room(table, time)) {
		table->evictions++;
		return false;
	}
	if (find_key(table, key) != slot || !grow(slot)) {
		return true; /* making room has dropped the key itself */
	}
	place = place_after(slot, time); /* making room may have moved the instances */
	before = place > 0 ? items(slot) + place - 1 : NULL;
	next = items(slot) + place;
	memmove(next + 1, next, (slot->count - place) * sizeof *next);
	*next = late_instance(before, place < slot->count ? next + 1 : NULL, change, time, value);
	next->serial = next_serial(table) & SERIAL_MOST;
	slot->count++;
	table->count++;
	if (next->end != LIFETIME_OPEN) {
		queue_end(table, slot, next);
	}
	return true;
}

bool lifetimes_announce(struct lifetimes *table, enum lifetime_change change, uint64_t key,
			int64_t time, uint32_t value)
{
	struct lifetimes_key *slot = find_key(table, key);
	struct lifetime *last = slot ? last_item(slot) : NULL;

	if (slot && table->frozen && shown(slot, change, time, value)) {
		return true;
	}
	if (last && is_late(last, time)) {
		return announce_late(table, slot, change, key, time, value);
	}
	if (change != LIFETIME_START && last && last->end == LIFETIME_OPEN) {
		if (last->value == 0) {
			last->value = value;
		}
	} else {
		int64_t start = change == LIFETIME_START ? time :
				last                     ? last->end :
							   LIFETIME_ALWAYS;

		slot = add_key(table, key, start, time, value, change == LIFETIME_START);
		if (!slot) {
			return false;
		}
		last = last_item(slot);
	}
	if (change == LIFETIME_STOP) {
		end_item(table, slot, last, time);
	}
	return true;
}

void lifetimes_each(const struct lifetimes *table,
		    void (*visit)(void *context, uint64_t key, const struct lifetime *instance),
		    void *context)
{
	for (uint32_t i = 0; i < table->key_count; i++) {
		struct lifetimes_key *slot = &table->keys[i];

		for (uint32_t j = 0; j < slot->count; j++) {
			visit(context, slot->key, &items(slot)[j]);
		}
	}
}

bool lifetimes_running(struct lifetimes *table, uint64_t key)
{
	struct lifetimes_key *slot = find_key(table, key);

	return slot && last_item(slot)->end == LIFETIME_OPEN;
}

const struct lifetime *lifetimes_ended_at(struct lifetimes *table, uint64_t key, int64_t time)
{
	struct lifetimes_key *slot = find_key(table, key);
	uint32_t at = slot ? latest(slot, time) : 0;

	return slot && at < slot->count ? ended_at(slot, at, time) : NULL;
}

/* ---- life of a table ---- */

void lifetimes_init(struct lifetimes *table, uint32_t limit, bool evict)
{
	*table = (struct lifetimes){ .limit = limit > 0 ? limit : 1,
				     .evict = evict,
				     .free = NO_SLOT,
				     .last = UINT32_MAX,
				     .grace_ticks = UINT64_MAX };
}

void lifetimes_clear(struct lifetimes *table)
{
	struct lifetimes empty;

	lifetimes_init(&empty, table->limit, table->evict);
	empty.grace_ticks = table->grace_ticks;
	empty.evictions = table->evictions;
	empty.serial = table->serial;
	empty.drops = table->drops + 1;
	for (uint32_t i = 0; i < table->key_count; i++) {
		free(table->keys[i].many);
	}
	free(table->keys);
	free(table->ends);
	map_done(&table->index);
	*table = empty;
}

/* ---- changes in file order ---- */

enum { CHANGES_PER_INSTANCE = 4, ORDER_MOST = (1 << 30) - 1 };

void timeline_set_limit(struct timeline *timeline, uint32_t limit)
{
	timeline->most = (size_t)limit * CHANGES_PER_INSTANCE;
	if (timeline->most > ORDER_MOST) {
		timeline->most = ORDER_MOST;
	}
	timeline->table.limit = limit > 0 ? limit : 1;
}

void timeline_init(struct timeline *timeline, uint32_t limit)
{
	*timeline = (struct timeline){ .count = 0 };
	lifetimes_init(&timeline->table, limit, true);
	timeline_set_limit(timeline, limit);
}

static void forget_changes(struct timeline *timeline)
{
	free(timeline->changes);
	timeline->changes = NULL;
	timeline->count = 0;
	timeline->capacity = 0;
	timeline->sorted = false;
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

static bool keep_change(struct timeline *timeline, enum lifetime_change change, uint64_t key,
			int64_t time, uint32_t value)
{
	struct timeline_change *changes = NULL;

	if (timeline->count < timeline->most) {
		changes = array_grow(timeline->changes, &timeline->capacity, timeline->count,
				     sizeof *changes);
	}
	if (!changes) {
		timeline->refused++;
		timeline->table.evictions++;
		return false;
	}
	timeline->changes = changes;
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
		return keep_change(timeline, change, key, time, value);
	}
	return lifetimes_announce(&timeline->table, change, key, time, value);
}

void timeline_move(struct timeline *from, struct timeline *to)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct timeline_change *change = &from->changes[i];

		keep_change(to, timeline_change_of(change), change->key, change->time,
			    change->value);
	}
	to->sorted = false;
	to->refused += from->refused;
	from->refused = 0;
	forget_changes(from);
}

static int by_time(const void *left, const void *right)
{
	const struct timeline_change *a = left, *b = right;

	if (a->time != b->time) {
		return a->time < b->time ? -1 : 1;
	}
	return a->order < b->order ? -1 : a->order > b->order;
}

/*
 * A merge sort that leaves sorted runs where they are: the changes of a buffer are sorted, and
 * buffers that overlap in time are near each other in the file. Changes at the same time stay in
 * file order. spare: room for half of the changes.
 */
static void sort_changes(struct timeline_change *changes, size_t count,
			 struct timeline_change *spare)
{
	size_t ordered = 1, half = count / 2, left, right = half;

	while (ordered < count && changes[ordered - 1].time <= changes[ordered].time) {
		ordered++;
	}
	if (ordered >= count) {
		return;
	}
	sort_changes(changes, half, spare);
	sort_changes(changes + half, count - half, spare);
	/* Changes that are not later than the first one of the second half stay in place. */
	left = half;
	while (left > 0 && changes[left - 1].time > changes[half].time) {
		left--;
	}
	memcpy(spare + left, changes + left, (half - left) * sizeof *spare);
	for (size_t at = left; left < half; at++) {
		changes[at] = right < count && changes[right].time < spare[left].time ?
				      changes[right++] :
				      spare[left++];
	}
}

void timeline_sort(struct timeline *timeline)
{
	struct timeline_change *spare = NULL;

	if (timeline->count > 1 && !timeline->sorted) {
		spare = malloc(timeline->count / 2 * sizeof *spare);
		if (spare) {
			sort_changes(timeline->changes, timeline->count, spare);
		} else {
			qsort(timeline->changes, timeline->count, sizeof *timeline->changes,
			      by_time);
		}
	}
	free(spare);
	timeline->sorted = true;
}

void timeline_build(struct timeline *timeline)
{
	timeline_sort(timeline);
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
	timeline->table.frozen = true;
	timeline->table.drops++;
}
