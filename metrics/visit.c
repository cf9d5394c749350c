/* SPDX-License-Identifier: MIT */
#include "metrics/visit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "metrics/exposition_internal.h"

/* ---- rows ---- */

/*
 * What the pages of all formats need of a family: the walk over its samples, and the parts of its
 * name.
 *
 * The walk takes no lock. It reads the number of samples once and returns only those, a segment at
 * a time, so a sample that is published meanwhile appears in the next scrape. A walk in the order
 * of labels sorts the prefixes first and returns one sample at a time.
 */

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
static void next_sorted(struct rows *rows)
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
	rows->created = family->created[segment] ? family->created[segment] + index : NULL;
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
		next_sorted(rows);
		return true;
	}
	rows->count = rows->left < 1u << segment ? rows->left : 1u << segment;
	rows->left -= rows->count;
	rows->columns = columns_of(rows->family, segment);
	rows->created = rows->family->created[segment];
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

/* ---- visiting ---- */

const char *sample_label(const struct visited_sample *sample, const char *name)
{
	const struct family *family = sample->family;

	for (uint32_t i = 0; i < family->label_count; i++) {
		if (strcmp(family->label_names[i], name) == 0) {
			return intern_text(family->registry->strings, sample->ids[i], NULL);
		}
	}
	return "";
}

/*
 * Returns the families that are shown, in an array that the caller frees; NULL without memory. They
 * are chosen at once, because a walk takes long, and several exchanges of families may happen
 * meanwhile.
 */
static struct family **shown_families(struct registry *registry, size_t *count)
{
	struct family **families = NULL, *family = NULL;
	size_t found = 0, capacity = 0;

	os_mutex_lock(&registry->mutex);
	while ((family = registry_next_family(registry, family)) != NULL) {
		struct family **grown =
			array_grow((void *)families, &capacity, found, sizeof(struct family *));

		if (!grown) {
			free((void *)families);
			families = NULL;
			break;
		}
		families = grown;
		families[found++] = family;
	}
	os_mutex_unlock(&registry->mutex);
	*count = found;
	return families;
}

static bool walk_families(struct registry *registry,
			  void (*visit)(void *context, const struct family *), void *context)
{
	struct scrape scrape;
	size_t count;
	struct family **families = shown_families(registry, &count);

	if (!families) {
		return false;
	}
	scrape_begin(registry, &scrape);
	for (size_t i = 0; i < count; i++) {
		visit(context, families[i]);
	}
	scrape_end(registry, &scrape);
	free((void *)families);
	return true;
}

bool registry_walk(struct registry *registry, void (*visit)(void *context, const struct family *),
		   void *context)
{
	registry_refresh(registry);
	return walk_families(registry, visit, context);
}

/* Reads the value of a sample. Returns false if it is a hidden gauge. */
static bool read_sample(const struct rows *rows, uint32_t index, uint64_t *buckets,
			struct visited_sample *sample)
{
	const struct family *family = rows->family;
	size_t first = (size_t)index * family->cells_per_sample;
	int64_t value;

	if (family->type == FAMILY_GAUGE) {
		bool shown = gauge_at(&rows->columns, index, &value);

		sample->value = shown ? (uint64_t)value : 0;
		return shown;
	}
	sample->count = 0;
	for (size_t b = 0; family->type == FAMILY_HISTOGRAM && b <= family->bucket_count; b++) {
		buckets[b] = sum_at(&rows->columns, first++);
		sample->count += buckets[b];
	}
	sample->value = sum_at(&rows->columns, first);
	return true;
}

static void visit_family(void *context, const struct family *family)
{
	const struct registry_visitor *visitor = context;
	uint64_t buckets[FAMILY_BUCKETS_MAX + 1];
	struct visited_sample sample = { .family = family, .buckets = buckets };
	struct rows rows;

	if (visitor->wants && !visitor->wants(visitor->context, family)) {
		return;
	}
	rows = rows_of(NULL, family);
	while (next_rows(&rows)) {
		for (uint32_t i = 0; i < rows.count; i++) {
			size_t size;

			if (!row_prefix(&rows, i, &size) ||
			    !read_sample(&rows, i, buckets, &sample)) {
				continue;
			}
			sample.ids = family->ids[rows.segment] + (size_t)i * family->label_count;
			visitor->on_sample(visitor->context, &sample);
		}
	}
	rows_done(&rows);
}

bool registry_visit(struct registry *registry, const struct registry_visitor *visitor)
{
	if (!visitor->counters_only) {
		registry_refresh(registry);
	}
	return walk_families(registry, visit_family, (void *)(uintptr_t)visitor);
}
