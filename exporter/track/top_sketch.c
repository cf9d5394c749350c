/* SPDX-License-Identifier: MIT */
/*
 * The space-saving sketch.
 *
 * Each counter is in two structures at once. A binary heap has the counter with the lowest count on
 * top, so that the counter to take over is found at once. A hash table with chains finds the
 * counter of a key. Counts only grow, so an updated counter only sinks in the heap; only a new
 * counter rises. All memory is allocated by top_sketch_init(): an update allocates nothing and
 * takes time logarithmic in the number of counters. Counts saturate at UINT64_MAX.
 */
#include "exporter/track/top_sketch.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { NO_COUNTER = UINT32_MAX };

bool top_sketch_init(struct top_sketch *sketch, uint32_t size, struct etw_error *err)
{
	uint32_t buckets = 1;

	while (buckets < 2 * size) {
		buckets *= 2;
	}
	*sketch = (struct top_sketch){ .size = size, .mask = buckets - 1 };
	sketch->counters = calloc(size, sizeof *sketch->counters);
	sketch->heap = calloc(size, sizeof *sketch->heap);
	sketch->buckets = calloc(buckets, sizeof *sketch->buckets);
	if (!sketch->counters || !sketch->heap || !sketch->buckets) {
		top_sketch_done(sketch);
		return error_no_memory(err, "the most written paths");
	}
	top_sketch_clear(sketch);
	return true;
}

void top_sketch_done(struct top_sketch *sketch)
{
	free(sketch->counters);
	free(sketch->heap);
	free(sketch->buckets);
	*sketch = (struct top_sketch){ 0 };
}

void top_sketch_clear(struct top_sketch *sketch)
{
	sketch->count = 0;
	if (sketch->buckets) {
		memset(sketch->buckets, 0xff, (sketch->mask + 1) * sizeof *sketch->buckets);
	}
}

/* Programs choose file names, and so the keys. The seed prevents them from choosing keys with
 * equal hashes. */
static uint32_t *bucket_of(const struct top_sketch *sketch, uint64_t key)
{
	return &sketch->buckets[hash_seeded(key, hash_seed()) & sketch->mask];
}

static uint32_t find(const struct top_sketch *sketch, uint64_t key)
{
	uint32_t number = *bucket_of(sketch, key);

	while (number != NO_COUNTER && sketch->counters[number].key != key) {
		number = sketch->counters[number].next;
	}
	return number;
}

static void put_in_list(struct top_sketch *sketch, uint32_t number)
{
	uint32_t *bucket = bucket_of(sketch, sketch->counters[number].key);

	sketch->counters[number].next = *bucket;
	*bucket = number;
}

static void take_out_of_list(struct top_sketch *sketch, uint32_t number)
{
	uint32_t *link = bucket_of(sketch, sketch->counters[number].key);

	while (*link != number) {
		link = &sketch->counters[*link].next;
	}
	*link = sketch->counters[number].next;
}

static uint64_t count_at(const struct top_sketch *sketch, uint32_t place)
{
	return sketch->counters[sketch->heap[place]].count;
}

static void place_at(struct top_sketch *sketch, uint32_t place, uint32_t number)
{
	sketch->heap[place] = number;
	sketch->counters[number].place = place;
}

static void sink(struct top_sketch *sketch, uint32_t place)
{
	uint32_t number = sketch->heap[place];
	uint64_t count = sketch->counters[number].count;

	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= sketch->count) {
			break;
		}
		if (child + 1 < sketch->count &&
		    count_at(sketch, child + 1) < count_at(sketch, child)) {
			child++;
		}
		if (count_at(sketch, child) >= count) {
			break;
		}
		place_at(sketch, place, sketch->heap[child]);
		place = child;
	}
	place_at(sketch, place, number);
}

static void rise(struct top_sketch *sketch, uint32_t place)
{
	uint32_t number = sketch->heap[place];
	uint64_t count = sketch->counters[number].count;

	while (place > 0 && count_at(sketch, (place - 1) / 2) > count) {
		place_at(sketch, place, sketch->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	place_at(sketch, place, number);
}

void top_sketch_add(struct top_sketch *sketch, uint64_t key, uint64_t weight)
{
	uint32_t number = find(sketch, key);
	struct top_counter *counter;

	if (number == NO_COUNTER && sketch->count < sketch->size) {
		number = sketch->count++;
		sketch->counters[number] = (struct top_counter){ .key = key, .count = weight };
		put_in_list(sketch, number);
		sketch->heap[number] = number;
		rise(sketch, number);
		return;
	}
	if (number == NO_COUNTER) {
		number = sketch->heap[0];
		take_out_of_list(sketch, number);
		sketch->counters[number].key = key;
		sketch->counters[number].error = sketch->counters[number].count;
		put_in_list(sketch, number);
	}
	counter = &sketch->counters[number];
	counter->count = top_sum(counter->count, weight);
	sink(sketch, counter->place);
}
