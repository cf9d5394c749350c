/* SPDX-License-Identifier: MIT */
/*
 * The two bounded tables of an engine: starts that wait for their stop, and values of `set` gauges.
 *
 * Starts are for all spans of the rules (`pair` in the collector language).
 *
 * Every span has start events and stop events that share a key: a request id, a connection, a file.
 * The engine hashes the key of an event and looks up the start with that key here. One map leads
 * from key and span to an entry; the entries of a span are also a list in the order of their
 * arrival, so that those which time out first come first and each call frees only those.
 *
 * Entries are in one array that is allocated when the first span starts; free ones form a list.
 * When all SPANS_MAX are in use, the oldest start of all spans is evicted. A start that has no stop
 * is counted once as an unmatched start, whether it timed out, was evicted, was replaced by a new
 * start with its key, or was forgotten by a reset; a stop without a start is an unmatched stop. A
 * start or stop that is delivered late is unmatched too if the other one came first. A span with
 * `keep` has starts that serve any number of stops: each stop moves its start to the end of the
 * list, and its time-out begins anew. Such a start has had a stop, so its end is not counted.
 */
#include <etw/record.h>

#include "exporter/rules/engine/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

/* ---- starts of spans ---- */

enum { NO_ENTRY = UINT32_MAX };

struct span_start {
	uint64_t key; /* its key in the map */
	int64_t start;
	int64_t time;            /* of the start, or of its last stop; the time-out begins here */
	uint32_t next, previous; /* neighbours in the span's list; next also links free entries */
	bool served;             /* it has had a stop */
	uint32_t captured[SPAN_CAPTURED_MAX]; /* label ids */
};

struct span_list {
	uint64_t timeout;
	uint32_t first, last;
};

struct spans {
	struct map places;          /* key -> index of the entry */
	struct span_start *entries; /* owned; SPANS_MAX entries, allocated with the first start */
	uint32_t used;              /* entries from this index on have never been used */
	uint32_t free;              /* first entry of the free list */
	struct spans_statistics statistics;
	uint64_t served; /* entries that have had a stop */
	uint64_t skew;
	size_t count;
	struct span_list lists[]; /* one list for each span */
};

static void empty(struct spans *spans)
{
	for (size_t i = 0; i < spans->count; i++) {
		spans->lists[i].first = spans->lists[i].last = NO_ENTRY;
	}
	spans->used = 0;
	spans->free = NO_ENTRY;
	spans->statistics.entries = 0;
	spans->served = 0;
}

struct spans *spans_new(const uint64_t *timeouts, size_t count, uint64_t skew,
			struct etw_error *err)
{
	struct spans *spans = calloc(1, sizeof *spans + count * sizeof spans->lists[0]);

	if (!spans) {
		error_no_memory(err, "pairs");
		return NULL;
	}
	spans->count = count;
	spans->skew = skew;
	for (size_t i = 0; i < count; i++) {
		spans->lists[i].timeout = timeouts[i];
	}
	empty(spans);
	return spans;
}

void spans_free(struct spans *spans)
{
	if (spans) {
		map_done(&spans->places);
		free(spans->entries);
		free(spans);
	}
}

static void append(struct spans *spans, struct span_list *list, uint32_t index)
{
	struct span_start *entry = &spans->entries[index];

	entry->next = NO_ENTRY;
	entry->previous = list->last;
	if (list->last != NO_ENTRY) {
		spans->entries[list->last].next = index;
	} else {
		list->first = index;
	}
	list->last = index;
}

static void unlink_entry(struct spans *spans, struct span_list *list, uint32_t index)
{
	struct span_start *entry = &spans->entries[index];

	if (entry->previous != NO_ENTRY) {
		spans->entries[entry->previous].next = entry->next;
	} else {
		list->first = entry->next;
	}
	if (entry->next != NO_ENTRY) {
		spans->entries[entry->next].previous = entry->previous;
	} else {
		list->last = entry->previous;
	}
}

static void remove_start(struct spans *spans, struct span_list *list, uint32_t index)
{
	struct span_start *entry = &spans->entries[index];

	unlink_entry(spans, list, index);
	map_remove(&spans->places, entry->key);
	entry->next = spans->free;
	spans->free = index;
	spans->statistics.entries--;
	spans->served -= entry->served;
}

/* Takes out a start for which no stop will come any more. */
static void give_up(struct spans *spans, struct span_list *list, uint32_t index)
{
	spans->statistics.unmatched_starts += !spans->entries[index].served;
	remove_start(spans, list, index);
}

static void time_out(struct spans *spans, struct span_list *list, int64_t now)
{
	while (list->first != NO_ENTRY &&
	       etw_time_between(spans->entries[list->first].time, now) > list->timeout) {
		give_up(spans, list, list->first);
	}
}

static void evict_oldest(struct spans *spans)
{
	struct span_list *oldest = NULL;

	for (size_t i = 0; i < spans->count; i++) {
		struct span_list *list = &spans->lists[i];

		if (list->first != NO_ENTRY &&
		    (!oldest ||
		     spans->entries[list->first].time < spans->entries[oldest->first].time)) {
			oldest = list;
		}
	}
	if (oldest) {
		give_up(spans, oldest, oldest->first);
		spans->statistics.evictions++;
	}
}

/* Returns the index of a free entry; NO_ENTRY without memory. */
static uint32_t find_free(struct spans *spans)
{
	uint32_t index;

	if (!spans->entries) {
		spans->entries = calloc(SPANS_MAX, sizeof *spans->entries);
		if (!spans->entries) {
			memory_note_loss();
			return NO_ENTRY;
		}
	}
	if (spans->free == NO_ENTRY && spans->used == SPANS_MAX) {
		evict_oldest(spans);
	}
	index = spans->free;
	if (index == NO_ENTRY) {
		return spans->used++;
	}
	spans->free = spans->entries[index].next;
	return index;
}

static uint64_t place_of(size_t span, uint64_t key)
{
	return key ^ hash_u64(span + 1);
}

uint32_t *spans_start(struct spans *spans, size_t span, uint64_t key, int64_t time)
{
	struct span_list *list = &spans->lists[span];
	uint64_t place = place_of(span, key);
	uint64_t *found;
	uint32_t index;

	time_out(spans, list, time);
	found = map_find(&spans->places, place);
	if (found && spans->entries[*found].start > time) {
		spans->statistics.unmatched_starts++;
		return NULL;
	}
	if (found) {
		give_up(spans, list, (uint32_t)*found);
	}
	index = find_free(spans);
	found = index != NO_ENTRY ? map_put(&spans->places, place, NULL) : NULL;
	if (!found) {
		if (index != NO_ENTRY) {
			spans->entries[index].next = spans->free;
			spans->free = index;
		}
		spans->statistics.unmatched_starts++;
		return NULL;
	}
	*found = index;
	spans->entries[index] = (struct span_start){ .key = place, .start = time, .time = time };
	append(spans, list, index);
	spans->statistics.entries++;
	return spans->entries[index].captured;
}

uint32_t *spans_captured(struct spans *spans, size_t span, uint64_t key, int64_t time)
{
	uint64_t *found;

	time_out(spans, &spans->lists[span], time);
	found = map_find(&spans->places, place_of(span, key));
	return found ? spans->entries[*found].captured : NULL;
}

/* Returns the index of the start that waits for a stop at `time`. If there is none, counts an
 * unmatched stop and returns NO_ENTRY. */
static uint32_t find_start(struct spans *spans, size_t span, uint64_t key, int64_t time)
{
	uint64_t *found;

	time_out(spans, &spans->lists[span], time);
	found = map_find(&spans->places, place_of(span, key));
	if (!found || etw_time_between(time, spans->entries[*found].start) > spans->skew) {
		spans->statistics.unmatched_stops++;
		return NO_ENTRY;
	}
	return (uint32_t)*found;
}

bool spans_stop(struct spans *spans, size_t span, uint64_t key, int64_t time, int64_t *start,
		uint32_t *captured)
{
	uint32_t index = find_start(spans, span, key, time);

	if (index == NO_ENTRY) {
		return false;
	}
	*start = spans->entries[index].start;
	memcpy(captured, spans->entries[index].captured, sizeof spans->entries->captured);
	remove_start(spans, &spans->lists[span], index);
	return true;
}

bool spans_use(struct spans *spans, size_t span, uint64_t key, int64_t time, uint32_t *captured)
{
	uint32_t index = find_start(spans, span, key, time);
	struct span_start *entry;

	if (index == NO_ENTRY) {
		return false;
	}
	entry = &spans->entries[index];
	memcpy(captured, entry->captured, sizeof entry->captured);
	spans->served += !entry->served;
	entry->served = true;
	if (entry->time < time) {
		entry->time = time;
		unlink_entry(spans, &spans->lists[span], index);
		append(spans, &spans->lists[span], index);
	}
	return true;
}

void spans_miss(struct spans *spans, bool start)
{
	if (start) {
		spans->statistics.unmatched_starts++;
	} else {
		spans->statistics.unmatched_stops++;
	}
}

void spans_reset(struct spans *spans)
{
	spans->statistics.unmatched_starts += spans->statistics.entries - spans->served;
	map_done(&spans->places);
	empty(spans);
}

/* Takes over the starts of a list. Returns how many of them have had no stop. */
static uint64_t copy_starts(struct spans *spans, size_t span, const struct spans *from,
			    size_t number)
{
	uint32_t index = from->lists[number].first;
	uint64_t unserved = 0;

	while (index != NO_ENTRY) {
		const struct span_start *entry = &from->entries[index];
		/* place_of() is its own inverse, so it returns the key here. */
		uint32_t *captured =
			spans_start(spans, span, place_of(number, entry->key), entry->time);

		if (captured) {
			struct span_start *taken = &spans->entries[spans->lists[span].last];

			memcpy(captured, entry->captured, sizeof entry->captured);
			taken->start = entry->start;
			taken->served = entry->served;
			spans->served += entry->served;
		}
		unserved += !entry->served;
		index = entry->next;
	}
	return unserved;
}

void spans_take_over(struct spans *spans, const struct spans *from, const uint16_t *numbers)
{
	const struct spans_statistics *before = &from->statistics;
	struct spans_statistics *now = &spans->statistics;
	uint64_t left = before->entries - from->served;

	for (size_t i = 0; i < spans->count; i++) {
		if (numbers[i] != SPAN_NEW) {
			/* spans_start() counts those that time out while they are taken over. */
			left -= copy_starts(spans, i, from, numbers[i]);
		}
	}
	now->evictions += before->evictions;
	now->unmatched_starts += before->unmatched_starts + left;
	now->unmatched_stops += before->unmatched_stops;
}

const struct spans_statistics *spans_statistics(const struct spans *spans)
{
	return &spans->statistics;
}

/* ---- values of set gauges ---- */

/*
 * A rule with `op: set` sets a value for one process. The sample of its labels may add up many
 * processes, so the value of each is kept here, and setting it adds the difference to the sample.
 * When a process ends, its values are subtracted from their samples.
 *
 * Entries are in a ring in the order in which they were made. One map finds the entry of an
 * instance and a sample, another the first of the instance's entries, which form a list. A new
 * entry takes the next place of the ring; if that is in use, the old value is subtracted from its
 * sample and the eviction is counted. Two instances with equal hashes cannot both be kept, so the
 * older one is dropped; its next value adds it again.
 */

struct gauge_entry {
	uint64_t instance;
	cell *cells; /* NULL: the entry is free */
	uint64_t value;
	int64_t time;            /* when it was set */
	uint32_t next, previous; /* list of the instance's entries */
};

struct gauges {
	struct map places;           /* hash of instance and sample -> index of its entry */
	struct map first;            /* instance -> index of its first entry */
	struct gauge_entry *entries; /* owned; GAUGES_MAX entries, allocated with the first value */
	uint32_t at;                 /* index of the next entry to use */
	uint64_t count, evictions;
};

struct gauges *gauges_new(struct etw_error *err)
{
	struct gauges *gauges = calloc(1, sizeof *gauges);

	if (!gauges) {
		error_no_memory(err, "gauges");
	}
	return gauges;
}

void gauges_free(struct gauges *gauges)
{
	if (gauges) {
		map_done(&gauges->places);
		map_done(&gauges->first);
		free(gauges->entries);
		free(gauges);
	}
}

static uint64_t gauge_place(uint64_t instance, const cell *cells)
{
	return hash_u64(instance) * UINT64_C(0xd6e8feb86659fd93) ^ (uint64_t)(uintptr_t)cells;
}

static void remove_gauge(struct gauges *gauges, uint32_t index)
{
	struct gauge_entry *entry = &gauges->entries[index];

	cells_move(entry->cells, 0 - entry->value);
	if (entry->next != NO_ENTRY) {
		gauges->entries[entry->next].previous = entry->previous;
	}
	if (entry->previous != NO_ENTRY) {
		gauges->entries[entry->previous].next = entry->next;
	} else if (entry->next != NO_ENTRY) {
		*map_find(&gauges->first, entry->instance) = entry->next;
	} else {
		map_remove(&gauges->first, entry->instance);
	}
	map_remove(&gauges->places, gauge_place(entry->instance, entry->cells));
	cells_release(entry->cells);
	entry->cells = NULL;
	gauges->count--;
}

static void put_in(struct gauges *gauges, uint32_t index, uint64_t instance, cell *cells,
		   uint64_t value, int64_t time)
{
	struct gauge_entry *entry = &gauges->entries[index];
	uint64_t *place = map_put(&gauges->places, gauge_place(instance, cells), NULL);
	uint64_t *first;
	bool added;

	if (!place) {
		return;
	}
	*place = index;
	first = map_put(&gauges->first, instance, &added);
	if (!first) {
		map_remove(&gauges->places, gauge_place(instance, cells));
		return;
	}
	*entry = (struct gauge_entry){ .instance = instance,
				       .cells = cells,
				       .value = value,
				       .time = time,
				       .next = added ? NO_ENTRY : (uint32_t)*first,
				       .previous = NO_ENTRY };
	if (!added) {
		gauges->entries[*first].previous = index;
	}
	*first = index;
	gauges->count++;
	cells_hold(cells);
	cells_move(cells, value);
}

void gauges_set(struct gauges *gauges, uint64_t instance, cell *cells, uint64_t value, int64_t time)
{
	uint64_t *place;
	struct gauge_entry *entry;

	if (!gauges->entries) {
		gauges->entries = calloc(GAUGES_MAX, sizeof *gauges->entries);
		if (!gauges->entries) {
			memory_note_loss();
			return;
		}
	}
	place = map_find(&gauges->places, gauge_place(instance, cells));
	if (place) {
		entry = &gauges->entries[*place];
		if (entry->instance == instance && entry->cells == cells) {
			if (time >= entry->time) {
				cells_replace(cells, entry->value, value);
				entry->value = value;
				entry->time = time;
			}
			return;
		}
		/* Two pairs of instance and sample have one hash: only one of them can be kept. */
		remove_gauge(gauges, (uint32_t)*place);
	}
	if (gauges->entries[gauges->at].cells) {
		remove_gauge(gauges, gauges->at);
		gauges->evictions++;
	}
	put_in(gauges, gauges->at, instance, cells, value, time);
	gauges->at = (gauges->at + 1) % GAUGES_MAX;
}

void gauges_end_instance(struct gauges *gauges, uint64_t instance, int64_t until)
{
	const uint64_t *first = map_find(&gauges->first, instance);
	uint32_t index = first ? (uint32_t)*first : NO_ENTRY;

	while (index != NO_ENTRY) {
		uint32_t next = gauges->entries[index].next;

		if (gauges->entries[index].time <= until) {
			remove_gauge(gauges, index);
		}
		index = next;
	}
}

void gauges_leave(struct gauges *gauges, bool (*has)(void *context, const cell *at), void *context)
{
	for (uint32_t i = 0; gauges->entries && i < GAUGES_MAX; i++) {
		if (gauges->entries[i].cells && has(context, gauges->entries[i].cells)) {
			remove_gauge(gauges, i);
		}
	}
}

void gauges_reset(struct gauges *gauges)
{
	for (uint32_t i = 0; gauges->entries && i < GAUGES_MAX; i++) {
		if (gauges->entries[i].cells) {
			remove_gauge(gauges, i);
		}
	}
	gauges->at = 0;
}

uint64_t gauges_count(const struct gauges *gauges)
{
	return gauges->count;
}

uint64_t gauges_evictions(const struct gauges *gauges)
{
	return gauges->evictions;
}
