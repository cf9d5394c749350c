/* SPDX-License-Identifier: MIT */
/*
 * Starts that wait for their stop, for all spans of the rules (docs/rules.md, `pair`).
 *
 * Bounded: beyond SPANS_MAX starts the oldest is evicted. A start that has no stop within its
 * span's time-out is dropped when the span's next event comes. Only the consumer that owns the
 * table may call; times rise, except for differences between the clocks of processors.
 */
#ifndef RULES_SPANS_H
#define RULES_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "rules/language/collector.h"

struct spans; /* opaque */

enum { SPANS_MAX = 65536 };

/* timeouts: for each span, in the ticks of the times; copied. */
struct spans *spans_new(const uint64_t *timeouts, size_t count, struct error *err);
void spans_free(struct spans *spans);

/*
 * key: a hash of what both events share, seeded. An earlier beginning of it had no end.
 *
 * Returns where the ids of the texts that it carries go, PAIR_CARRIED_MAX of them, INTERN_NONE for
 * now; until the next call. NULL without memory.
 */
uint32_t *spans_start(struct spans *spans, size_t span, uint64_t key, int64_t time);

/* The same of a beginning that waits; NULL: there is none. */
uint32_t *spans_captured(struct spans *spans, size_t span, uint64_t key, int64_t time);

/* Takes the beginning out: *ticks since then, 0 when it seems to be later, and the PAIR_CARRIED_MAX
 * ids that it carries. False: there is none. */
bool spans_stop(struct spans *spans, size_t span, uint64_t key, int64_t time, uint64_t *ticks,
		uint32_t *captured);

/* An event whose key cannot be told. */
void spans_miss(struct spans *spans, bool start);

/* Forgets all of them. */
void spans_reset(struct spans *spans);

struct spans_statistics {
	uint64_t entries;
	uint64_t evictions;        /* to make room */
	uint64_t unmatched_starts; /* timed out, begun anew, evicted or forgotten */
	uint64_t unmatched_stops;
};
const struct spans_statistics *spans_statistics(const struct spans *spans);

#endif
