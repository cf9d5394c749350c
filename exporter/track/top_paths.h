/* SPDX-License-Identifier: MIT */
/*
 * The paths that programs wrote most to in the last minute: etw_file_top_written_bytes. Only one
 * consumer uses it, so it has no lock.
 *
 * The minute is measured in event time and slides: every ten seconds the list is made again from
 * sketches of the last six slices of ten seconds. A new path replaces one of the list only if it
 * has twice as many bytes, so that two paths with nearly the same bytes do not alternate. A value
 * is a lower bound of the bytes written.
 */
#ifndef TRACK_TOP_PATHS_H
#define TRACK_TOP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "exporter/track/files.h"
#include "metrics/registry.h"

/* ---- the sketch of the heaviest keys ---- */

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

enum {
	TOP_PATHS = 20,          /* default length of the list */
	TOP_PATHS_SLICES = 6,    /* in a minute */
	TOP_PATH_SIZE_MAX = 1024 /* bytes of a path in a label; the rest is cut off */
};

#define TOP_PATHS_SLICE  (INT64_C(10) * 10000000) /* 100 ns */
#define TOP_PATHS_MINUTE (TOP_PATHS_SLICES * TOP_PATHS_SLICE)

struct top_path;   /* private */
struct top_ranked; /* private */

struct top_paths {
	struct registry *registry; /* borrowed, like all pointers that are not marked as owned */
	struct shard *shard;
	const struct files *files;
	struct family *family;                      /* NULL: not enabled */
	uint32_t providers[2];                      /* label ids; [1] is the second source */
	struct top_sketch slices[TOP_PATHS_SLICES]; /* a ring */
	unsigned present;                           /* index of the current slice in the ring */
	struct top_ranked *order;                   /* owned; used while a list is made */
	/* Owned, 2 * places entries: the list in the order of keys, then the next list while it
	 * is made. */
	struct top_path *listed;
	uint32_t count, places;
	int64_t start; /* start of the current slice; ETW_RECORD_NO_TIME: no slice yet */
};

extern const struct family_options top_paths_family;

bool top_paths_init(struct top_paths *top, struct registry *registry, struct shard *shard,
		    const struct files *files, uint32_t places, struct etw_error *err);
void top_paths_done(struct top_paths *top); /* frees what it owns; a zeroed struct is allowed */

/* Forgets the minute; the next call of top_paths_time() begins a new one. The list stays shown
 * until a slice of the new minute ends, or until top_paths_end(). */
void top_paths_clear(struct top_paths *top);

/* Call it for every event, before top_paths_add(). time: 100 ns since 1601 UTC, or
 * ETW_RECORD_NO_TIME. */
void top_paths_time(struct top_paths *top, int64_t time);

struct top_write {
	uint32_t file;      /* number of the file in files */
	uint32_t process;   /* label id */
	bool second_source; /* reported by Microsoft-Windows-Kernel-File, not by the kernel's FileIo
			     */
	uint64_t bytes;
};

/* Adds bytes that a program wrote to a file to the current slice. */
void top_paths_add(struct top_paths *top, const struct top_write *write);

/* Shows the minute up to now. Call it after the last event. */
void top_paths_end(struct top_paths *top);

#endif
