/* SPDX-License-Identifier: MIT */
/*
 * Starts that wait for their stop, for all pairs of the rules (docs/rules.md, `pair`).
 *
 * Bounded: beyond PAIRS_MAX starts the oldest is evicted. A start that has no stop within its
 * pair's time-out is dropped when the pair's next event comes. Only the consumer that owns the
 * table may call; times rise, except for differences between the clocks of processors.
 */
#ifndef RULES_PAIRS_H
#define RULES_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "rules/language/collector.h"

struct pairs; /* opaque */

enum { PAIRS_MAX = 65536 };

/* timeouts: for each pair, in the ticks of the times; copied. */
struct pairs *pairs_new(const uint64_t *timeouts, size_t count, struct error *err);
void pairs_free(struct pairs *pairs);

/*
 * key: a hash of what both events share, seeded. An earlier beginning of it had no end.
 *
 * Returns where the ids of the texts that it carries go, PAIR_CARRIED_MAX of them, INTERN_NONE for
 * now; until the next call. NULL without memory.
 */
uint32_t *pairs_begin(struct pairs *pairs, size_t pair, uint64_t key, int64_t time);

/* The same of a beginning that waits; NULL: there is none. */
uint32_t *pairs_carried(struct pairs *pairs, size_t pair, uint64_t key, int64_t time);

/* Takes the beginning out: *ticks since then, 0 when it seems to be later, and the PAIR_CARRIED_MAX
 * ids that it carries. False: there is none. */
bool pairs_end(struct pairs *pairs, size_t pair, uint64_t key, int64_t time, uint64_t *ticks,
	       uint32_t *carried);

/* An event whose key cannot be told. */
void pairs_miss(struct pairs *pairs, bool start);

/* Forgets all of them. */
void pairs_reset(struct pairs *pairs);

struct pairs_statistics {
	uint64_t entries;
	uint64_t evictions;        /* to make room */
	uint64_t unmatched_starts; /* timed out, begun anew, evicted or forgotten */
	uint64_t unmatched_stops;
};
const struct pairs_statistics *pairs_statistics(const struct pairs *pairs);

#endif
