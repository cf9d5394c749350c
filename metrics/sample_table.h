/* SPDX-License-Identifier: MIT */
/*
 * From label ids to the number of a sample, without a lock: open addressing over slots that are
 * only ever added to.
 *
 * In a header so that the per-event path has it inline; for samples.c and sample_make.c only. The
 * order of stores is told in registry_internal.h.
 */
#ifndef METRICS_SAMPLE_TABLE_H
#define METRICS_SAMPLE_TABLE_H

#include <string.h>

#include "metrics/registry_internal.h"

/*
 * Low bits choose the bucket, the highest eight stand in the slot.
 *
 * Ids are read one by one, here and below: whoever calls has just written them so, and a wider read
 * would have to wait until the narrow writes have left the processor's store buffer.
 */
static inline uint64_t sample_hash(const uint32_t *ids, uint32_t count)
{
	static const uint64_t factors[FAMILY_LABELS_MAX] = {
		UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9),
		UINT64_C(0x94d049bb133111eb), UINT64_C(0xd6e8feb86659fd93),
		UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db),
		UINT64_C(0x8ebc6af09c88c6e3), UINT64_C(0x589965cc75374cc3),
	};
	uint64_t hash = 0;

	for (uint32_t i = 0; i < count; i++) {
		hash += ids[i] * factors[i];
	}
	return hash ^ (hash >> 32);
}

static inline bool ids_equal(const uint32_t *a, const uint32_t *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (a[i] != b[i]) {
			return false;
		}
	}
	return true;
}

static inline const uint32_t *sample_ids(const struct family *family, uint32_t sample,
					 uint32_t count)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	return family->ids[segment] + (size_t)index * count;
}

static inline uint32_t sample_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~(uint32_t)(SAMPLE_END - 1);
}

/* Whether a slot, its tag taken off, names a sample: it is neither free nor of another tag. */
static inline bool slot_matches(uint32_t slot)
{
	return slot - SAMPLE_FIRST < SAMPLE_END - SAMPLE_FIRST;
}

static inline bool sample_has_ids(const struct family *family, uint32_t sample, const uint32_t *ids,
				  uint32_t count)
{
	return ids_equal(sample_ids(family, sample, count), ids, count);
}

/*
 * The number of the sample with these ids; NO_SAMPLE when it is not there (yet). count is the
 * family's label_count; where it is a constant, the compiler makes straight code of it.
 */
static inline uint32_t sample_find(const struct family *family, const uint32_t *ids, uint32_t count)
{
	/* Pairs with the release in reserve_slot(). */
	const struct sample_table *table =
		atomic_load_explicit(&family->table, memory_order_acquire);
	uint64_t hash = sample_hash(ids, count);
	uint32_t tag = sample_tag(hash);

	for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
		/* Pairs with the release in sample_put(): the ids are there. */
		uint64_t bucket = atomic_load_explicit(&table->buckets[i], memory_order_acquire);
		uint32_t first = (uint32_t)bucket ^ tag, second = (uint32_t)(bucket >> 32) ^ tag;
		/* One of the two without a branch, which would be guessed wrong too often. */
		uint32_t sample = second ^ ((first ^ second) & -(uint32_t)slot_matches(first));

		if (slot_matches(sample) && sample_has_ids(family, sample, ids, count)) {
			return sample;
		}
		if (sample == first && slot_matches(second) &&
		    sample_has_ids(family, second, ids, count)) {
			return second;
		}
		if (bucket >> 32 == 0) {
			return NO_SAMPLE;
		}
	}
}

static inline void sample_put(struct sample_table *table, uint64_t hash, uint32_t sample)
{
	uint64_t slot = sample_tag(hash) | sample, bucket;
	size_t i = hash & table->mask;

	for (;;) {
		bucket = atomic_load_explicit(&table->buckets[i], memory_order_relaxed);
		if (bucket >> 32 == 0) {
			break;
		}
		i = (i + 1) & table->mask;
	}
	bucket = bucket == 0 ? slot : bucket | slot << 32;
	/* Pairs with the acquire in sample_find(). */
	atomic_store_explicit(&table->buckets[i], bucket, memory_order_release);
}

#endif
