/* SPDX-License-Identifier: MIT */
/*
 * Holds the gauges of a shard while another pass of a replay begins.
 *
 * A pass starts with nothing: processes are known again only when the rundown at the beginning of
 * the recording has been read. A scrape in between would show no running process. So the values of
 * the former pass are copied into a second shard, which pages show in place of the first one until
 * the caller releases it. One flag decides which of the two a page reads (shown_cells()). A
 * label set that is new meanwhile is hidden there (samples.c): the former pass had no value, not 0.
 *
 * The second shard has no owner. The thread that owns the first one writes it. Evictions ignore
 * what it has; they clear its cells with all others.
 */
#include "metrics/registry.h"
#include "metrics/registry_internal.h"

/* Call it with the mutex. */
static void copy_gauges(struct family *family, const struct shard *from, const struct shard *to)
{
	uint32_t left = atomic_load_explicit(&family->sample_count, memory_order_relaxed);

	for (unsigned segment = SEGMENT_FIRST; left > 0; segment++) {
		const cell *source = family_segment(family, from->index, segment);
		cell *target = source ? family_make_segment(family, to, segment) : NULL;
		uint32_t here = left < 1u << segment ? left : 1u << segment;

		left -= here;
		for (size_t i = 0; target && i < (size_t)here * GAUGE_CELLS; i += GAUGE_CELLS) {
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
