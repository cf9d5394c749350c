/* SPDX-License-Identifier: MIT */
/*
 * The per-event path: from label ids to the cells of a sample, and what is done to them.
 */
#include <assert.h>

#include "metrics/sample_table.h"

static inline cell *cells_of(struct family *family, const struct writer *writer, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);
	cell *cells = family_segment(family, writer->index, segment);

	if (!cells) {
		cells = family_make_cells(family, writer, segment);
		if (!cells) {
			return NULL;
		}
	}
	return cells + (size_t)index * family->cells_per_sample;
}

cell *family_cells(struct family *family, struct writer *writer, const uint32_t *ids, bool *folded)
{
	uint32_t sample = sample_find(family, ids, sample_hash(ids, family->label_count));
	bool is_folded = false;
	cell *cells;

	assert(writer->registry == family->registry);
	if (sample == NO_SAMPLE) {
		sample = family_make_sample(family, ids, &is_folded);
	}
	cells = sample == NO_SAMPLE ? NULL : cells_of(family, writer, sample);
	if (is_folded || !cells) {
		atomic_fetch_add_explicit(&family->overflow, 1, memory_order_relaxed);
	}
	if (folded) {
		*folded = is_folded;
	}
	return cells;
}

static inline void add(const struct writer *writer, cell *at, uint64_t amount)
{
	if (writer->shared) {
		atomic_fetch_add_explicit(at, amount, memory_order_relaxed);
	} else {
		cell_add(at, amount);
	}
}

void family_add(struct family *family, struct writer *writer, const uint32_t *ids, uint64_t amount)
{
	cell *cells = family_cells(family, writer, ids, NULL);

	assert(family->type != FAMILY_HISTOGRAM);
	if (cells) {
		add(writer, cells, amount);
	}
}

void cells_observe(const struct family *family, struct writer *writer, cell *cells, uint64_t value)
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
	add(writer, cells + (bound - family->buckets), 1);
	add(writer, cells + family->bucket_count + 1, value);
}

void family_observe(struct family *family, struct writer *writer, const uint32_t *ids,
		    uint64_t value)
{
	cell *cells = family_cells(family, writer, ids, NULL);

	assert(family->type == FAMILY_HISTOGRAM);
	if (cells) {
		cells_observe(family, writer, cells, value);
	}
}

static void set(struct family *family, struct writer *writer, const uint32_t *ids, uint64_t value)
{
	cell *cells = family_cells(family, writer, ids, NULL);

	assert(family->type != FAMILY_HISTOGRAM);
	if (cells) {
		atomic_store_explicit(cells, value, memory_order_relaxed);
	}
}

void family_set(struct family *family, struct writer *writer, const uint32_t *ids, int64_t value)
{
	set(family, writer, ids, (uint64_t)value);
}

void family_hide(struct family *family, struct writer *writer, const uint32_t *ids)
{
	assert(family->type == FAMILY_GAUGE);
	set(family, writer, ids, CELL_HIDDEN);
}

bool family_value(struct family *family, const uint32_t *ids, int64_t *value)
{
	uint32_t sample = sample_find(family, ids, sample_hash(ids, family->label_count)), index;
	size_t offset = family->type == FAMILY_HISTOGRAM ? family->bucket_count + 1 : 0;
	uint64_t sum = 0;
	unsigned segment;

	if (sample == NO_SAMPLE) {
		return false;
	}
	segment = segment_of(sample, &index);
	offset += (size_t)index * family->cells_per_sample;
	for (unsigned w = 0; w < WRITER_SLOTS; w++) {
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
