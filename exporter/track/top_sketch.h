/* SPDX-License-Identifier: MIT */
/*
 * The heaviest keys of a stream, in the memory of a few: the space-saving sketch.
 *
 * Each counter has a key, a count that is never below the key's weight, and how far above it may
 * be. A key without a counter takes that of the lightest, and its count with it. So of a stream of
 * weight W and with N counters no count is more than W / N too high, and every key heavier than
 * W / N has a counter.
 *
 * Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
 * Data Streams", ICDT 2005.
 */
#ifndef TRACK_TOP_SKETCH_H
#define TRACK_TOP_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct top_counter {
	uint64_t key;
	uint64_t count; /* weight of the key, or more */
	uint64_t error; /* at most this much more */
	uint32_t next;  /* of the same hash; private */
	uint32_t place; /* in the heap; private */
};

/* One consumer's. Nothing is allocated after top_sketch_init(). */
struct top_sketch {
	struct top_counter *counters; /* owned; the first `count` are in use */
	uint32_t *heap;               /* owned; numbers of counters, the lightest first */
	uint32_t *buckets;            /* owned; by hash: the first counter, or none */
	uint32_t count, size, mask;
};

/* size: counters, at least 1. */
bool top_sketch_init(struct top_sketch *sketch, uint32_t size, struct error *err);
void top_sketch_done(struct top_sketch *sketch); /* zeros are fine */
void top_sketch_clear(struct top_sketch *sketch);

void top_sketch_add(struct top_sketch *sketch, uint64_t key, uint64_t weight);

/* What the key has weighed for sure. */
static inline uint64_t top_counter_least(const struct top_counter *counter)
{
	return counter->count - counter->error;
}

#endif
