/* SPDX-License-Identifier: MIT */
/*
 * Starts that wait for their stop, for all spans of the rules (docs/rules.md, `pair`).
 *
 * Bounded: beyond SPANS_MAX starts the oldest is evicted. A start that has no stop within its
 * span's time-out is dropped when the span's next event comes. Only the consumer that owns the
 * table may call. Times rise, except that a live session may deliver the events of one processor
 * late.
 */
#ifndef RULES_SPANS_H
#define RULES_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "exporter/rules/language/collector.h"

struct spans; /* opaque */

enum { SPANS_MAX = 65536 };

/* timeouts: for each span, in the ticks of the times; copied. skew: so many ticks at most are the
 * clocks of processors apart. */
struct spans *spans_new(const uint64_t *timeouts, size_t count, uint64_t skew,
			struct etw_error *err);
void spans_free(struct spans *spans);

/*
 * A start. key: a seeded hash of what the events of a span share; an earlier start with this key
 * had no stop and is replaced. If a later one is there, this one came late and has no stop.
 *
 * Returns where the ids of the captured labels go, SPAN_CAPTURED_MAX of them, which are INTERN_NONE
 * now; valid until the next call. NULL: it is not kept, because it came late or without memory.
 */
uint32_t *spans_start(struct spans *spans, size_t span, uint64_t key, int64_t time);

/* The same for a start that waits; NULL: there is no such start. */
uint32_t *spans_captured(struct spans *spans, size_t span, uint64_t key, int64_t time);

/* Removes the start and gives its time, which may be later within the skew, and its
 * SPAN_CAPTURED_MAX ids. False: there is no such start. */
bool spans_stop(struct spans *spans, size_t span, uint64_t key, int64_t time, int64_t *start,
		uint32_t *captured);

/* Counts an event whose key is unknown as an unmatched start or stop. */
void spans_miss(struct spans *spans, bool start);

/*
 * Takes the starts over from other spans, as does a table that takes the place of another one.
 * numbers: for each span here, its number there, or SPAN_NEW. Counts continue; starts of spans that
 * are not here count as unmatched.
 */
void spans_take(struct spans *spans, const struct spans *from, const uint16_t *numbers);

enum { SPAN_NEW = UINT16_MAX };

/* Forgets all of them. */
void spans_reset(struct spans *spans);

struct spans_statistics {
	uint64_t entries;
	uint64_t evictions;        /* to make room */
	uint64_t unmatched_starts; /* timed out, replaced, evicted or forgotten */
	uint64_t unmatched_stops;
};
const struct spans_statistics *spans_statistics(const struct spans *spans);

#endif
