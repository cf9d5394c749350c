/* SPDX-License-Identifier: MIT */
/*
 * From label ids to the number of a sample, without a lock: open addressing over slots that are
 * only ever added to.
 *
 * In a header so that the per-event path has it inline; for samples.c and sample_make.c only. The
 * order of stores is told in family.h.
 */
#ifndef METRICS_SAMPLE_TABLE_H
#define METRICS_SAMPLE_TABLE_H

#include <string.h>

#include "metrics/family.h"

static inline uint64_t ids_pair(const uint32_t *ids)
{
	uint64_t pair;

	memcpy(&pair, ids, sizeof pair);
	return pair;
}

/* Low bits choose the slot, the highest eight stand in it. */
static inline uint64_t sample_hash(const uint32_t *ids, uint32_t count)
{
	uint64_t hash;

	if (count == 2) {
		hash = ids_pair(ids);
	} else {
		hash = 0;
		for (uint32_t i = 0; i < count; i++) {
			hash = (hash ^ ids[i]) * UINT64_C(0xbf58476d1ce4e5b9);
			hash ^= hash >> 32;
		}
	}
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 32);
}

static inline bool ids_equal(const uint32_t *a, const uint32_t *b, uint32_t count)
{
	if (count == 2) {
		return ids_pair(a) == ids_pair(b);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (a[i] != b[i]) {
			return false;
		}
	}
	return true;
}

static inline const uint32_t *sample_ids(const struct family *family, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	return family->ids[segment] + (size_t)index * family->label_count;
}

static inline uint32_t sample_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 56) << SAMPLE_BITS;
}

/* The number of the sample with these ids; NO_SAMPLE when it is not there (yet). */
static inline uint32_t sample_find(const struct family *family, const uint32_t *ids, uint64_t hash)
{
	/* Pairs with the release in reserve_slot(). */
	const struct sample_table *table =
		atomic_load_explicit(&family->table, memory_order_acquire);
	uint32_t tag = sample_tag(hash);

	for (uint32_t i = (uint32_t)hash & table->mask;; i = (i + 1) & table->mask) {
		/* Pairs with the release in sample_put(): the ids are there. */
		uint32_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);
		uint32_t sample = slot ^ tag;

		if (sample - 1 <= SAMPLES_MAX &&
		    ids_equal(sample_ids(family, sample - 1), ids, family->label_count)) {
			return sample - 1;
		}
		if (slot == 0) {
			return NO_SAMPLE;
		}
	}
}

static inline void sample_put(struct sample_table *table, uint64_t hash, uint32_t sample)
{
	uint32_t i = (uint32_t)hash & table->mask;

	while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != 0) {
		i = (i + 1) & table->mask;
	}
	/* Pairs with the acquire in sample_find(). */
	atomic_store_explicit(&table->slots[i], sample_tag(hash) | (sample + 1),
			      memory_order_release);
}

#endif
