/* SPDX-License-Identifier: MIT */
/*
 * Starts that wait for their stop, for all pairs of the rules.
 *
 * Every pair has events that start something and events that stop it, which share a key: a request
 * id, a connection, a file. The engine hashes the key of an event and asks here for the start that
 * has it. One map leads from key and pair to an entry; the entries of a pair are also a list in the
 * order of their arrival, so that the ones to time out stand in front and each call frees only
 * those.
 *
 * Entries lie in one array that is allocated when the first pair starts; free ones are a list. When
 * all PAIRS_MAX are in use, the oldest start of all pairs makes room. A start that has no stop is
 * counted once, whether it timed out, was evicted, was replaced by a new start with its key, or was
 * forgotten by a reset: it is an unmatched start, and a stop without a start is an unmatched stop.
 */
#include "rules/engine/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { NO_ENTRY = UINT32_MAX };

struct entry {
	uint64_t key; /* in the map */
	int64_t time;
	uint32_t next, previous;            /* of the pair; next also of the free ones */
	uint32_t carried[PAIR_CARRIED_MAX]; /* label ids */
};

struct pair_list {
	uint64_t timeout;
	uint32_t first, last;
};

struct pairs {
	struct map places;       /* key -> index of its entry */
	struct entry *entries;   /* owned; PAIRS_MAX once the first one begins */
	struct pair_list *lists; /* owned; of each pair */
	size_t count;
	uint32_t used; /* entries below were in use at some time */
	uint32_t free; /* the first free one among them */
	struct pairs_statistics statistics;
};

static void empty(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		pairs->lists[i].first = pairs->lists[i].last = NO_ENTRY;
	}
	pairs->used = 0;
	pairs->free = NO_ENTRY;
	pairs->statistics.entries = 0;
}

struct pairs *pairs_new(const uint64_t *timeouts, size_t count, struct error *err)
{
	struct pairs *pairs = calloc(1, sizeof *pairs);

	if (pairs) {
		pairs->lists = calloc(count + 1, sizeof *pairs->lists);
	}
	if (!pairs || !pairs->lists) {
		error_set(err, ERROR_NO_MEMORY, "no memory for pairs");
		pairs_free(pairs);
		return NULL;
	}
	pairs->count = count;
	for (size_t i = 0; i < count; i++) {
		pairs->lists[i].timeout = timeouts[i];
	}
	empty(pairs);
	return pairs;
}

void pairs_free(struct pairs *pairs)
{
	if (pairs) {
		map_done(&pairs->places);
		free(pairs->entries);
		free(pairs->lists);
		free(pairs);
	}
}

static void take_out(struct pairs *pairs, struct pair_list *list, uint32_t index)
{
	struct entry *entry = &pairs->entries[index];

	if (entry->previous != NO_ENTRY) {
		pairs->entries[entry->previous].next = entry->next;
	} else {
		list->first = entry->next;
	}
	if (entry->next != NO_ENTRY) {
		pairs->entries[entry->next].previous = entry->previous;
	} else {
		list->last = entry->previous;
	}
	map_remove(&pairs->places, entry->key);
	entry->next = pairs->free;
	pairs->free = index;
	pairs->statistics.entries--;
}

static uint64_t ticks_between(int64_t start, int64_t end)
{
	return end > start ? (uint64_t)end - (uint64_t)start : 0;
}

static void time_out(struct pairs *pairs, struct pair_list *list, int64_t now)
{
	while (list->first != NO_ENTRY &&
	       ticks_between(pairs->entries[list->first].time, now) > list->timeout) {
		take_out(pairs, list, list->first);
		pairs->statistics.unmatched_starts++;
	}
}

static void evict_oldest(struct pairs *pairs)
{
	struct pair_list *oldest = NULL;

	for (size_t i = 0; i < pairs->count; i++) {
		struct pair_list *list = &pairs->lists[i];

		if (list->first != NO_ENTRY &&
		    (!oldest ||
		     pairs->entries[list->first].time < pairs->entries[oldest->first].time)) {
			oldest = list;
		}
	}
	if (oldest) {
		take_out(pairs, oldest, oldest->first);
		pairs->statistics.evictions++;
		pairs->statistics.unmatched_starts++;
	}
}

/* A place for one more; NO_ENTRY without memory. */
static uint32_t take_free(struct pairs *pairs)
{
	uint32_t index;

	if (!pairs->entries) {
		pairs->entries = calloc(PAIRS_MAX, sizeof *pairs->entries);
		if (!pairs->entries) {
			return NO_ENTRY;
		}
	}
	if (pairs->free == NO_ENTRY && pairs->used == PAIRS_MAX) {
		evict_oldest(pairs);
	}
	index = pairs->free;
	if (index == NO_ENTRY) {
		return pairs->used++;
	}
	pairs->free = pairs->entries[index].next;
	return index;
}

static uint64_t place_of(size_t pair, uint64_t key)
{
	return key ^ hash_u64(pair + 1);
}

uint32_t *pairs_begin(struct pairs *pairs, size_t pair, uint64_t key, int64_t time)
{
	struct pair_list *list = &pairs->lists[pair];
	uint64_t place = place_of(pair, key);
	uint64_t *found;
	uint32_t index;

	time_out(pairs, list, time);
	found = map_find(&pairs->places, place);
	if (found) {
		take_out(pairs, list, (uint32_t)*found);
		pairs->statistics.unmatched_starts++;
	}
	index = take_free(pairs);
	found = index != NO_ENTRY ? map_put(&pairs->places, place, NULL) : NULL;
	if (!found) {
		if (index != NO_ENTRY) {
			pairs->entries[index].next = pairs->free;
			pairs->free = index;
		}
		pairs->statistics.unmatched_starts++;
		return NULL;
	}
	*found = index;
	pairs->entries[index] = (struct entry){
		.key = place, .time = time, .next = NO_ENTRY, .previous = list->last
	};
	if (list->last != NO_ENTRY) {
		pairs->entries[list->last].next = index;
	} else {
		list->first = index;
	}
	list->last = index;
	pairs->statistics.entries++;
	return pairs->entries[index].carried;
}

uint32_t *pairs_carried(struct pairs *pairs, size_t pair, uint64_t key, int64_t time)
{
	uint64_t *found;

	time_out(pairs, &pairs->lists[pair], time);
	found = map_find(&pairs->places, place_of(pair, key));
	return found ? pairs->entries[*found].carried : NULL;
}

bool pairs_end(struct pairs *pairs, size_t pair, uint64_t key, int64_t time, uint64_t *ticks,
	       uint32_t *carried)
{
	struct pair_list *list = &pairs->lists[pair];
	uint64_t *found;

	time_out(pairs, list, time);
	found = map_find(&pairs->places, place_of(pair, key));
	if (!found) {
		pairs->statistics.unmatched_stops++;
		return false;
	}
	*ticks = ticks_between(pairs->entries[*found].time, time);
	memcpy(carried, pairs->entries[*found].carried, sizeof pairs->entries->carried);
	take_out(pairs, list, (uint32_t)*found);
	return true;
}

void pairs_miss(struct pairs *pairs, bool start)
{
	if (start) {
		pairs->statistics.unmatched_starts++;
	} else {
		pairs->statistics.unmatched_stops++;
	}
}

void pairs_reset(struct pairs *pairs)
{
	pairs->statistics.unmatched_starts += pairs->statistics.entries;
	map_done(&pairs->places);
	empty(pairs);
}

const struct pairs_statistics *pairs_statistics(const struct pairs *pairs)
{
	return &pairs->statistics;
}
