/* SPDX-License-Identifier: MIT */
/*
 * Native histograms: counts in the exponential buckets of Prometheus' schema 3, beside the classic
 * buckets of a family. Only files of metrics/ may use it.
 *
 * The bucket with index i contains the values above 2^((i-1)/8) up to 2^(i/8). As values are
 * integers of 64 bits, 513 indices are possible; together with the bucket of 0 they are the
 * *positions*. The counts of a sample in one shard are in pages of a few positions. A page is made
 * when a value first belongs there, never moves, and is freed with the registry. So one thread
 * counts without a lock while others read.
 *
 * Source: "Native Histograms", prometheus.io; prometheus/client_model
 * `io/prometheus/client/metrics.proto`.
 */
#ifndef METRICS_NATIVE_BUCKETS_H
#define METRICS_NATIVE_BUCKETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/registry.h"

enum {
	NATIVE_SCHEMA = 3, /* 2^3 buckets for each power of two */
	NATIVE_POSITIONS = 514,
	NATIVE_PAGE_POSITIONS = 16, /* 128 bytes */
	NATIVE_PAGES = (NATIVE_POSITIONS + NATIVE_PAGE_POSITIONS - 1) / NATIVE_PAGE_POSITIONS,
	NATIVE_BUCKETS_MAX =
		160, /* the most that a scrape shows; the limit that client libraries recommend */
};

/* Maps integers to positions. It depends only on the decimals of a family. */
struct native_scale {
	int first_index; /* index of the bucket of position 1 */
	/* Indexed by the highest five bits of a value: the position of the smallest value with
	 * these bits. The others are at the same position or the next one. */
	uint16_t first[64 * 16];
	uint64_t bounds[NATIVE_POSITIONS]; /* the greatest integer at each position */
};

/* decimals: 0 to 9. */
void native_scale_init(struct native_scale *scale, unsigned decimals);

static inline unsigned native_position(const struct native_scale *scale, uint64_t value)
{
	unsigned power, position;

	if (value == 0) {
		return 0;
	}
	power = 63u ^ (unsigned)__builtin_clzll(value);
	position = scale->first[power << 4 | ((value << (63 - power)) >> 59 & 15)];
	return position + (value > scale->bounds[position]);
}

/* The counts of a sample in one shard; pages that are not made yet are NULL. */
struct native_cells {
	_Atomic(cell *) pages[NATIVE_PAGES];
};

/*
 * Returns the cell that counts a position; NULL if it is not made yet. `at` is the cell of the
 * sample that holds the address of its struct native_cells, or 0.
 */
static inline cell *native_cell(const cell *at, unsigned position)
{
	/* Both pair with the releases in native_make(). */
	const struct native_cells *cells =
		(const struct native_cells *)(uintptr_t)atomic_load_explicit(at,
									     memory_order_acquire);
	cell *page = cells ? atomic_load_explicit(&cells->pages[position / NATIVE_PAGE_POSITIONS],
						  memory_order_acquire) :
			     NULL;

	return page ? page + position % NATIVE_PAGE_POSITIONS : NULL;
}

/*
 * Makes the cell of a position. Any thread may call it. Returns NULL without memory; the sample
 * then has no native histogram any more, because one that lacks observations would be wrong.
 */
cell *native_make(struct registry *registry, cell *at, unsigned position);

/* Sets the counts of a sample in one shard to 0, so that another label set can use them. No
 * other thread may use the cells. */
void native_clear(cell *at);

/* The native histogram of a sample as a scrape shows it. */
struct native_histogram {
	int schema; /* NATIVE_SCHEMA, or lower if there would be more than NATIVE_BUCKETS_MAX
		       buckets */
	uint64_t zero_count;
	uint64_t count; /* sum of all buckets, that of 0 included */
	unsigned bucket_count;
	struct native_bucket {
		int index;
		uint64_t count;        /* above 0, not cumulated */
	} buckets[NATIVE_BUCKETS_MAX]; /* in the order of indices */
};

/*
 * Adds up the counts of a sample in shard_count shards. cells[i]: the first cell of its family's
 * segment in shard i; index: that of the cell with the address. Returns false if the sample has no
 * native histogram, for lack of memory.
 */
bool native_read(const struct native_scale *scale, cell *const *cells, unsigned shard_count,
		 size_t index, struct native_histogram *histogram);

#endif
