/* SPDX-License-Identifier: MIT */
/*
 * Exchanges one set of families for another while threads count and scrape.
 *
 * A family is never removed, because consumers and scrapes use it without a lock. Each family
 * stores the generations in which it is on the page, and an exchange begins the next generation. A
 * page chooses its families once, with the mutex, so it never has families of two configurations,
 * and never one name twice, even if several exchanges happen while it is written. Consumers do not
 * use generations: they count into the cells that their rules lead to, and replace their rules when
 * they are ready (pipeline.c).
 */
#include "metrics/registry.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "metrics/registry_internal.h"

static void mark(struct family *const *families, size_t count, bool coming)
{
	for (size_t i = 0; i < count; i++) {
		families[i]->coming = coming;
	}
}

/* Call it with the mutex: marks the families of the next generation. */
static void mark_coming(struct registry *registry, struct family *const *former,
			size_t former_count, struct family *const *next, size_t next_count)
{
	uint32_t generation = registry_generation(registry);
	struct family *family = atomic_load_explicit(&registry->families, memory_order_acquire);

	for (; family; family = atomic_load_explicit(&family->next, memory_order_acquire)) {
		family->coming = family_shown(family, generation);
	}
	mark(former, former_count, false);
	mark(next, next_count, true);
}

/* Call it with the mutex: checks that no two families of the next generation have one name. */
static bool check_names(struct registry *registry, struct family *const *next, size_t next_count,
			struct etw_error *err)
{
	for (size_t i = 0; i < next_count; i++) {
		const struct family *family = next[i];
		const char *taken =
			registry_find_coming(registry, family->name, true) != family ?
				family->name :
				registry_name_taken(registry, family->name, family->type, true);

		if (taken) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "%s: the name collides with the family %s", family->name,
					 taken);
		}
	}
	return true;
}

/* Call it with the mutex: adds the samples of a family to those that count against the limit if
 * it is shown, and subtracts them if not. */
static void count_series(struct registry *registry, const struct family *family, bool shown)
{
	uint32_t count = atomic_load_explicit(&family->limited_count, memory_order_relaxed);

	if (shown) {
		atomic_fetch_add_explicit(&registry->series, count, memory_order_relaxed);
	} else {
		atomic_fetch_sub_explicit(&registry->series, count, memory_order_relaxed);
	}
}

static uint32_t max_series_of(const struct registry *registry, uint32_t own)
{
	return own ? own : registry->limits.series_per_family;
}

/* Call it with the mutex: shows the marked families from the given generation on, and no others. */
static void apply(struct registry *registry, uint32_t generation)
{
	struct family *family = atomic_load_explicit(&registry->families, memory_order_acquire);

	for (; family; family = atomic_load_explicit(&family->next, memory_order_acquire)) {
		bool shown = family_shown(family, generation - 1);

		if (shown == family->coming) {
			continue;
		}
		count_series(registry, family, family->coming);
		/* These three stores pair with the acquires in family_shown(). */
		if (family->coming) {
			atomic_store_explicit(&family->shown_from, generation,
					      memory_order_release);
			atomic_store_explicit(&family->shown_until, NEVER_SHOWN,
					      memory_order_release);
		} else {
			atomic_store_explicit(&family->shown_until, generation,
					      memory_order_release);
		}
	}
}

bool registry_exchange(struct registry *registry, struct family *const *former, size_t former_count,
		       struct family *const *next, size_t next_count, struct etw_error *err)
{
	uint32_t generation;
	bool good;

	os_mutex_lock(&registry->mutex);
	mark_coming(registry, former, former_count, next, next_count);
	good = check_names(registry, next, next_count, err);
	if (good) {
		generation = registry_generation(registry) + 1;
		apply(registry, generation);
		for (size_t i = 0; i < next_count; i++) {
			next[i]->own_max_series = next[i]->coming_max_series != 0;
			atomic_store_explicit(&next[i]->max_series,
					      max_series_of(registry, next[i]->coming_max_series),
					      memory_order_relaxed);
		}
		/* Pairs with the acquire in registry_generation(). */
		atomic_store_explicit(&registry->generation, generation, memory_order_release);
	}
	os_mutex_unlock(&registry->mutex);
	return good;
}

bool family_has_help(const struct family *family, const char *help)
{
	struct etw_text head = { 0 };
	bool same;

	text_add_family_head(&head, family->name, help, family_type_name(family->type));
	same = head.failed ||
	       (head.size == family->head_size && memcmp(head.data, family->head, head.size) == 0);
	text_free(&head);
	return same;
}

void registry_set_limits(struct registry *registry, const struct registry_limits *limits)
{
	struct family *family;
	size_t prefix_bytes, former;

	os_mutex_lock(&registry->mutex);
	registry_take_limits(registry, limits);
	/* The budget of text grows with the limit, but never shrinks. */
	prefix_bytes = (size_t)registry->limits.series * PREFIX_BYTES_PER_SERIES;
	former = atomic_load_explicit(&registry->prefix_bytes, memory_order_relaxed);
	if (prefix_bytes > former) {
		atomic_fetch_add_explicit(&registry->prefix_bytes_left, prefix_bytes - former,
					  memory_order_relaxed);
		atomic_store_explicit(&registry->prefix_bytes, prefix_bytes, memory_order_relaxed);
	}
	family = atomic_load_explicit(&registry->families, memory_order_acquire);
	for (; family; family = atomic_load_explicit(&family->next, memory_order_acquire)) {
		if (!family->own_max_series) {
			atomic_store_explicit(&family->max_series, max_series_of(registry, 0),
					      memory_order_relaxed);
		}
	}
	os_mutex_unlock(&registry->mutex);
}

static void restart_gauge(cell *cells)
{
	uint64_t holds = atomic_load_explicit(&cells[GAUGE_HOLDS], memory_order_relaxed);

	atomic_store_explicit(&cells[GAUGE_HOLDS], holds % GAUGE_WRAP, memory_order_relaxed);
	atomic_store_explicit(&cells[GAUGE_VALUE], 0, memory_order_relaxed);
}

void family_restart(struct family *family, const struct shard *shard)
{
	uint32_t left = atomic_load_explicit(&family->sample_count, memory_order_acquire);

	assert(family->type == FAMILY_GAUGE);
	for (unsigned segment = SEGMENT_FIRST; left > 0; segment++) {
		cell *cells = family_segment(family, shard->index, segment);
		uint32_t here = left < 1u << segment ? left : 1u << segment;

		left -= here;
		for (uint32_t i = 0; cells && i < here; i++) {
			restart_gauge(&cells[(size_t)i * GAUGE_CELLS]);
		}
	}
}

bool family_has_cell(const struct family *family, const struct shard *shard, const cell *at)
{
	for (unsigned segment = SEGMENT_FIRST; segment < SEGMENT_COUNT; segment++) {
		const cell *cells = family_segment(family, shard->index, segment);
		size_t samples = family->label_count > 0 ? (size_t)1 << segment : 1;

		if (cells && at >= cells && at < cells + samples * family->cells_per_sample) {
			return true;
		}
	}
	return false;
}

/* ---- holding gauges ---- */

/*
 * Holds the gauges of a shard while another pass of a replay begins.
 *
 * A pass starts with nothing: processes are known again only when the rundown at the beginning of
 * the recording has been read. A scrape in between would show no running process. So the values of
 * the former pass are copied into a second shard, which pages show in place of the first one until
 * the caller releases it. One flag decides which of the two a page reads (shown_cells()). A
 * label set that is new meanwhile is hidden there: its value of the former pass is none, not 0.
 *
 * The second shard has no owner. The thread that owns the first one writes it. Evictions ignore
 * what it has; they clear its cells with all others.
 */

/* Call it with the mutex. */
static void copy_gauges(struct family *family, const struct shard *from, const struct shard *to)
{
	uint32_t left = atomic_load_explicit(&family->sample_count, memory_order_relaxed);

	for (unsigned segment = SEGMENT_FIRST; left > 0; segment++) {
		const cell *source = family_segment(family, from->index, segment);
		cell *target = source ? family_make_segment(family, to, segment) : NULL;
		uint32_t here = left < 1u << segment ? left : 1u << segment;

		left -= here;
		/* With the holds, because their cell also has a part of the value. */
		for (size_t i = 0; target && i < (size_t)here * GAUGE_CELLS; i++) {
			atomic_store_explicit(
				&target[i], atomic_load_explicit(&source[i], memory_order_relaxed),
				memory_order_relaxed);
		}
	}
}

void shard_hold_gauges(struct shard *shard)
{
	struct registry *registry = shard->registry;
	struct family *family = NULL;

	if (!shard->held) {
		shard->held = registry_shard(registry, false, NULL);
		if (!shard->held) {
			return;
		}
		/* Pages read it without the mutex, so it is written before there are cells. */
		shard->held->held_of = shard;
	}
	os_mutex_lock(&registry->mutex);
	while ((family = next_declared(registry, family)) != NULL) {
		if (family->type == FAMILY_GAUGE) {
			copy_gauges(family, shard, shard->held);
		}
	}
	os_mutex_unlock(&registry->mutex);
	/* Pairs with the acquire in shown_cells(): a page that sees the flag sees the copies. */
	atomic_store_explicit(&shard->is_holding, true, memory_order_release);
}

void shard_release_gauges(struct shard *shard)
{
	atomic_store_explicit(&shard->is_holding, false, memory_order_release);
}
