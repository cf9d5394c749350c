/* SPDX-License-Identifier: MIT */
/*
 * Native histograms: the bounds of the buckets, their cells, and what a scrape shows of them.
 *
 * An observation is an integer, such as nanoseconds, and bounds are powers of 2^(1/8) of the unit
 * that is shown, such as seconds. So the bounds are computed once as integers: v belongs to the
 * first bucket with v <= floor(2^(i/8) * 10^decimals). The products are exact: 96 bits of 2^(j/8)
 * leave no doubt about any of these floors (compared with exact roots for all decimals;
 * test_protobuf does it again).
 *
 * A histogram is sparse: durations of one thing are within a few powers of two. The client
 * libraries keep a map of buckets and, when there are too many, double the width of all buckets
 * while counting. Here the pages have a place for every possible bucket, at most 4 KiB for a sample
 * and shard, so nothing is ever moved; only what is shown is merged, two buckets into one, until
 * there are few enough. Counts never fall, so a schema that is shown once is never exceeded later,
 * except after a restart, where Prometheus expects it.
 */

#include <string.h>

#include "metrics/registry_internal.h"

/* ---- bounds ---- */

enum { FRACTION_BITS = 95 };

/* floor(2^(j/8) * 2^95) for j from 0 to 7 */
static const struct {
	uint64_t high, low;
} eighths[8] = {
	{ 0x80000000, UINT64_C(0x0000000000000000) }, { 0x8b95c1e3, UINT64_C(0xea8bd6e6fbe46287) },
	{ 0x9837f051, UINT64_C(0x8db8a96f46ad2318) }, { 0xa5fed6a9, UINT64_C(0xb15138ea1cbd7f62) },
	{ 0xb504f333, UINT64_C(0xf9de6484597d89b3) }, { 0xc5672a11, UINT64_C(0x5506dadd3e2ad0c9) },
	{ 0xd744fcca, UINT64_C(0xd69d6af439a68bb9) }, { 0xeac0c6e7, UINT64_C(0xdd24392ed02d75b3) },
};

/* Returns the greatest integer up to 2^(index/8) * scale, at most UINT64_MAX. scale: up to 10^9. */
static uint64_t bound_of(int index, uint64_t scale)
{
	int eighth = (int)((unsigned)index & 7), power = (index - eighth) / 8;
	int shift = FRACTION_BITS - power;
	__extension__ unsigned __int128 product = eighths[eighth].high;

	product = (product << 64 | eighths[eighth].low) * scale;
	if (shift >= 128) {
		return 0;
	}
	product >>= shift;
	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

void native_scale_init(struct native_scale *scale, unsigned decimals)
{
	uint64_t unit = 1;
	unsigned position = 1;
	int index;

	for (unsigned i = 0; i < decimals; i++) {
		unit *= 10;
	}
	/* 10^9 is below 2^30, so the bucket of the integer 1 has at least this index. */
	for (index = -8 * 30; bound_of(index, unit) == 0; index++) {
	}
	scale->first_index = index;
	scale->bounds[0] = 0;
	for (unsigned i = 1; i < NATIVE_POSITIONS; i++) {
		scale->bounds[i] = bound_of(index++, unit);
	}
	for (unsigned key = 0; key < sizeof scale->first / sizeof scale->first[0]; key++) {
		unsigned power = key >> 4;
		uint64_t least = power < 4 ? (16 | (key & 15)) >> (4 - power) :
					     (uint64_t)(16 | (key & 15)) << (power - 4);

		while (scale->bounds[position] < least) {
			position++;
		}
		scale->first[key] = (uint16_t)position;
	}
}

const struct native_scale *registry_native_scale(struct registry *registry, unsigned decimals)
{
	struct native_scale **scale = &registry->native_scales[decimals];

	if (!*scale) {
		*scale = arena_alloc(&registry->arena, sizeof **scale, 64);
		if (*scale) {
			native_scale_init(*scale, decimals);
		}
	}
	return *scale;
}

/* ---- cells ---- */

/* Its address marks a sample that lost an observation for lack of memory. */
static struct native_cells lost;

static void mark_lost(cell *at)
{
	/* Pairs with the acquire in native_cell() and add_counts(). */
	atomic_store_explicit(at, (uintptr_t)&lost, memory_order_release);
}

/* Does the work of native_make() with the mutex. */
static cell *make_with_mutex(struct registry *registry, cell *at, unsigned position)
{
	struct native_cells *cells =
		(struct native_cells *)(uintptr_t)atomic_load_explicit(at, memory_order_relaxed);
	_Atomic(cell *) *page;
	cell *made;

	if (cells == &lost) {
		return NULL;
	}
	if (!cells) {
		cells = arena_alloc(&registry->arena, sizeof *cells, sizeof(void *));
		if (!cells) {
			mark_lost(at);
			return NULL;
		}
		/* Pairs with the acquire in native_cell() and add_counts(). */
		atomic_store_explicit(at, (uintptr_t)cells, memory_order_release);
	}
	page = &cells->pages[position / NATIVE_PAGE_POSITIONS];
	made = atomic_load_explicit(page, memory_order_relaxed);
	if (!made) {
		made = arena_alloc(&registry->arena, NATIVE_PAGE_POSITIONS * sizeof *made, 64);
		if (!made) {
			mark_lost(at);
			return NULL;
		}
		/* Pairs with the acquire in native_cell(). */
		atomic_store_explicit(page, made, memory_order_release);
	}
	return made + position % NATIVE_PAGE_POSITIONS;
}

cell *native_make(struct registry *registry, cell *at, unsigned position)
{
	cell *made;

	os_mutex_lock(&registry->mutex);
	made = make_with_mutex(registry, at, position);
	os_mutex_unlock(&registry->mutex);
	return made;
}

static bool is_lost(const cell *at)
{
	/* Pairs with the release in mark_lost(). */
	return (uintptr_t)atomic_load_explicit(at, memory_order_acquire) == (uintptr_t)&lost;
}

void native_clear(cell *at)
{
	/* The next label set starts without losses. */
	if (is_lost(at)) {
		atomic_store_explicit(at, 0, memory_order_relaxed);
	}
	for (unsigned i = 0; i < NATIVE_PAGES; i++) {
		cell *page = native_cell(at, i * NATIVE_PAGE_POSITIONS);

		for (unsigned j = 0; page && j < NATIVE_PAGE_POSITIONS; j++) {
			atomic_store_explicit(&page[j], 0, memory_order_relaxed);
		}
	}
}

/* ---- a scrape ---- */

/* Adds the counts of a sample in one shard. Returns false if observations are missing there. */
static bool add_counts(uint64_t *counts, const cell *at)
{
	if (is_lost(at)) {
		return false;
	}
	for (unsigned i = 0; i < NATIVE_PAGES; i++) {
		const cell *page = native_cell(at, i * NATIVE_PAGE_POSITIONS);
		uint64_t *to = counts + i * NATIVE_PAGE_POSITIONS;

		for (unsigned j = 0; page && j < NATIVE_PAGE_POSITIONS; j++) {
			to[j] += atomic_load_explicit(&page[j], memory_order_relaxed);
		}
	}
	return true;
}

/* Returns the index of the bucket that contains this one at a lower schema. */
static int merged_index(int index, int schema)
{
	while (schema++ < NATIVE_SCHEMA) {
		index = (index + (index > 0)) / 2;
	}
	return index;
}

/* Fills in the buckets. Returns false if there are too many. */
static bool fill(struct native_histogram *histogram, const struct native_scale *scale,
		 const uint64_t *counts, int schema)
{
	struct native_bucket *bucket = NULL;

	histogram->schema = schema;
	histogram->bucket_count = 0;
	for (int i = 1; i < NATIVE_POSITIONS; i++) {
		int index;

		if (counts[i] == 0) {
			continue;
		}
		index = merged_index(scale->first_index + i - 1, schema);
		if (!bucket || bucket->index != index) {
			if (histogram->bucket_count == NATIVE_BUCKETS_MAX) {
				return false;
			}
			bucket = &histogram->buckets[histogram->bucket_count++];
			*bucket = (struct native_bucket){ .index = index };
		}
		bucket->count += counts[i];
	}
	return true;
}

bool native_read(const struct native_scale *scale, cell *const *cells, unsigned shard_count,
		 size_t index, struct native_histogram *histogram)
{
	uint64_t counts[NATIVE_PAGES * NATIVE_PAGE_POSITIONS] = { 0 };
	int schema = NATIVE_SCHEMA;

	for (unsigned i = 0; i < shard_count; i++) {
		if (!add_counts(counts, cells[i] + index)) {
			return false;
		}
	}
	histogram->zero_count = counts[0];
	histogram->count = 0;
	for (unsigned i = 0; i < NATIVE_POSITIONS; i++) {
		histogram->count += counts[i];
	}
	/* At schema 1 there are at most 130 buckets. */
	while (!fill(histogram, scale, counts, schema)) {
		schema--;
	}
	return true;
}
