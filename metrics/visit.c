/* SPDX-License-Identifier: MIT */
#include "metrics/visit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "metrics/exposition_internal.h"

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
