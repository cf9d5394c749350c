/* SPDX-License-Identifier: MIT */
/*
 * The per-event path: from label ids to the cells of a sample, and what is done to them.
 */
#include <assert.h>

#include "metrics/sample_table.h"

/* The cells of a sample; NULL when the writer touches its segment for the first time. */
static inline cell *cells_of(const struct family *family, const struct shard *shard,
			     uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);
	cell *cells = family_segment(family, shard->index, segment);

	return cells ? cells + (size_t)index * family->cells_per_sample : NULL;
}

static inline cell *find_cells(const struct family *family, const struct shard *shard,
			       const uint32_t *ids, uint32_t count)
{
	uint32_t sample = sample_find(family, ids, count);

	assert(shard->registry == family->registry);
	return sample == NO_SAMPLE ? NULL : cells_of(family, shard, sample);
}

/* The sample is new, folded, or new to the writer. */
static cell *make_cells(struct family *family, const struct shard *shard, const uint32_t *ids,
			bool *overflowed)
{
	uint32_t sample = sample_find(family, ids, family->label_count), index;
	cell *cells = NULL;

	*overflowed = false;
	if (sample == NO_SAMPLE) {
		sample = family_make_sample(family, ids, overflowed);
	}
	if (sample != NO_SAMPLE) {
		cells = cells_of(family, shard, sample);
		if (!cells && family_make_cells(family, shard, segment_of(sample, &index))) {
			cells = cells_of(family, shard, sample);
		}
	}
	if (*overflowed || !cells) {
		atomic_fetch_add_explicit(&family->overflow, 1, memory_order_relaxed);
	}
	return cells;
}

static inline cell *find_cells_any(const struct family *family, const struct shard *shard,
				   const uint32_t *ids)
{
	switch (family->label_count) {
	case 1:
		return find_cells(family, shard, ids, 1);
	case 2:
		return find_cells(family, shard, ids, 2);
	case 3:
		return find_cells(family, shard, ids, 3);
	case 4:
		return find_cells(family, shard, ids, 4);
	default:
		return find_cells(family, shard, ids, family->label_count);
	}
}

cell *family_cells(struct family *family, struct shard *shard, const uint32_t *ids,
		   bool *overflowed)
{
	cell *cells = find_cells_any(family, shard, ids);
	bool is_overflowed = false;

	if (!cells) {
		cells = make_cells(family, shard, ids, &is_overflowed);
	}
	if (overflowed) {
		*overflowed = is_overflowed;
	}
	return cells;
}

static inline void add(const struct shard *shard, cell *at, uint64_t amount)
{
	if (shard->shared) {
		atomic_fetch_add_explicit(at, amount, memory_order_relaxed);
	} else {
		cell_add(at, amount);
	}
}

static __attribute__((noinline)) void add_any(struct family *family, struct shard *shard,
					      const uint32_t *ids, uint64_t amount)
{
	cell *cells = family_cells(family, shard, ids, NULL);

	if (cells) {
		add(shard, cells, amount);
	}
}

void family_add(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t amount)
{
	assert(family->type != FAMILY_HISTOGRAM);
	/* Two labels are so frequent that they get by without a stack and a call. */
	if (family->label_count == 2) {
		cell *cells = find_cells(family, shard, ids, 2);

		if (cells) {
			add(shard, cells, amount);
			return;
		}
	}
	add_any(family, shard, ids, amount);
}

void cells_observe(const struct family *family, struct shard *shard, cell *cells, uint64_t value)
{
	/* The first bucket whose bound is not below value, by halves without branches. */
	const uint64_t *bound = family->buckets;
	size_t count = family->bucket_count;

	while (count > 1) {
		size_t half = count / 2;

		bound = bound[half - 1] < value ? bound + half : bound;
		count -= half;
	}
	if (count == 1 && *bound < value) {
		bound++;
	}
	add(shard, cells + (bound - family->buckets), 1);
	add(shard, cells + family->bucket_count + 1, value);
}

void family_observe(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t value)
{
	cell *cells = family_cells(family, shard, ids, NULL);

	assert(family->type == FAMILY_HISTOGRAM);
	if (cells) {
		cells_observe(family, shard, cells, value);
	}
}

static void set(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t value)
{
	cell *cells = family_cells(family, shard, ids, NULL);

	assert(family->type != FAMILY_HISTOGRAM);
	if (cells) {
		atomic_store_explicit(cells, value, memory_order_relaxed);
	}
}

void family_set(struct family *family, struct shard *shard, const uint32_t *ids, int64_t value)
{
	set(family, shard, ids, (uint64_t)value);
}

void family_hide(struct family *family, struct shard *shard, const uint32_t *ids)
{
	assert(family->type == FAMILY_GAUGE);
	set(family, shard, ids, CELL_HIDDEN);
}

bool family_value(struct family *family, const uint32_t *ids, int64_t *value)
{
	uint32_t sample = sample_find(family, ids, family->label_count), index;
	size_t offset = family->type == FAMILY_HISTOGRAM ? family->bucket_count + 1 : 0;
	uint64_t sum = 0;
	unsigned segment;

	if (sample == NO_SAMPLE) {
		return false;
	}
	segment = segment_of(sample, &index);
	offset += (size_t)index * family->cells_per_sample;
	for (unsigned w = 0; w < SHARD_SLOTS; w++) {
		cell *cells = family_segment(family, w, segment);

		if (cells) {
			uint64_t one = atomic_load_explicit(cells + offset, memory_order_relaxed);

			if (one == CELL_HIDDEN && family->type == FAMILY_GAUGE) {
				return false;
			}
			sum += one;
		}
	}
	*value = (int64_t)sum;
	return true;
}

size_t family_series(const struct family *family)
{
	return atomic_load_explicit(&family->sample_count, memory_order_acquire);
}
