/* SPDX-License-Identifier: MIT */
/*
 * What the pages of all formats need of a family: the walk over its samples, and the parts of its
 * name.
 *
 * The walk takes no lock. It reads the number of samples once and returns only those, a segment at
 * a time, so a sample that is published meanwhile appears in the next scrape. A walk in the order
 * of labels sorts the prefixes first and returns one sample at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "metrics/exposition_internal.h"

struct row_key {
	const struct prefix *prefix;
	uint32_t sample;
};

/* Compares rows for a descending order, because a sorted walk takes the next row from the end. */
static int compare_rows(const void *a, const void *b)
{
	const struct prefix *x = ((const struct row_key *)a)->prefix;
	const struct prefix *y = ((const struct row_key *)b)->prefix;
	size_t size = x->size < y->size ? x->size : y->size;
	int order = memcmp(y->text, x->text, size);

	return order != 0 ? order : (y->size > x->size) - (y->size < x->size);
}

/* Sorts the samples by their prefixes into rows->order. Returns false without memory. */
static bool sort_rows(struct rows *rows)
{
	uint32_t count = 0;

	rows->order = malloc(rows->left * sizeof *rows->order);
	if (!rows->order) {
		return false;
	}
	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + rows->left; sample++) {
		const struct prefix *prefix = sample_prefix(rows->family, sample);

		if (prefix) {
			rows->order[count++] = (struct row_key){ prefix, sample };
		}
	}
	rows->left = count;
	if (count > 0) {
		qsort(rows->order, count, sizeof *rows->order, compare_rows);
	}
	return true;
}

struct rows rows_of(struct page *page, const struct family *family)
{
	struct rows rows = { .family = family, .segment = SEGMENT_FIRST - 1 };

	/* Pairs with the release in begin_sample(). */
	rows.left = atomic_load_explicit(&family->sample_count, memory_order_acquire);
	if (page && page->options->sorted && rows.left > 1 && !sort_rows(&rows)) {
		page->refused = true;
		rows.left = 0;
	}
	return rows;
}

/* Moves a sorted walk to its next sample: the columns begin with it. */
static void take_sample(struct rows *rows)
{
	const struct family *family = rows->family;
	uint32_t index;
	unsigned segment = segment_of(rows->order[--rows->left].sample, &index);

	rows->count = 1;
	rows->columns = columns_of(family, segment);
	rows->columns.prefixes += index;
	for (unsigned i = 0; i < rows->columns.count; i++) {
		rows->columns.cells[i] += (size_t)index * family->cells_per_sample;
	}
	rows->created = family->created_ms[segment] ? family->created_ms[segment] + index : NULL;
}

void rows_done(struct rows *rows)
{
	free(rows->order);
	rows->order = NULL;
}

bool next_rows(struct rows *rows)
{
	unsigned segment = ++rows->segment;

	if (rows->left == 0) {
		return false;
	}
	if (rows->order) {
		take_sample(rows);
		return true;
	}
	rows->count = rows->left < 1u << segment ? rows->left : 1u << segment;
	rows->left -= rows->count;
	rows->columns = columns_of(rows->family, segment);
	rows->created = rows->family->created_ms[segment];
	return true;
}

/* ---- names ---- */

static bool ends_in(const char *name, size_t size, const char *ending)
{
	size_t ending_size = strlen(ending);

	return size > ending_size && memcmp(name + size - ending_size, ending, ending_size) == 0;
}

size_t family_base_size(const struct family *family)
{
	static const char total[] = "_total";
	bool counter = family->type == FAMILY_COUNTER;

	return counter && ends_in(family->name, family->name_size, total) ?
		       family->name_size - (sizeof total - 1) :
		       family->name_size;
}

const char *family_unit(const struct family *family)
{
	static const char *const units[] = { "_seconds", "_bytes", "_ratio" };

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (ends_in(family->name, family_base_size(family), units[i])) {
			return units[i] + 1;
		}
	}
	return NULL;
}
