/* SPDX-License-Identifier: MIT */
/*
 * The heaviest keys of a stream in bounded memory: the space-saving sketch.
 *
 * Each counter has a key, a count that is at least the weight of the key, and the greatest possible
 * error of the count. A key without a counter takes over the counter with the lowest count, and
 * keeps this count as its error. For a stream of weight W and N counters, no count is more than
 * W / N too high, and every key heavier than W / N has a counter.
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
	uint64_t count; /* at least the weight of the key */
	uint64_t error; /* the count is at most this much too high */
	uint32_t next;  /* private: the next counter with the same hash */
	uint32_t place; /* private: index in heap */
};

/* Only one consumer may use it. Nothing is allocated after top_sketch_init(). */
struct top_sketch {
	struct top_counter *counters; /* owned; the first `count` are in use */
	uint32_t *heap;               /* owned; indices of counters, the lowest count first */
	uint32_t *buckets;            /* owned; by hash: the first counter of the chain, or none */
	uint32_t count, size, mask;
};

/* size: the number of counters, at least 1. Returns false without memory. */
bool top_sketch_init(struct top_sketch *sketch, uint32_t size, struct etw_error *err);
void top_sketch_done(
	struct top_sketch *sketch); /* frees what it owns; a zeroed struct is allowed */
void top_sketch_clear(struct top_sketch *sketch);

/* Adds weight to a key. Without a free counter the key takes over the lowest one. */
void top_sketch_add(struct top_sketch *sketch, uint64_t key, uint64_t weight);

/* The sum of two weights, which saturates at UINT64_MAX. */
static inline uint64_t top_sum(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* Returns a lower bound of the weight of the key. */
static inline uint64_t top_counter_least(const struct top_counter *counter)
{
	return counter->count - counter->error;
}

#endif
