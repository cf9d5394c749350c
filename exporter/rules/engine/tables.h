/* SPDX-License-Identifier: MIT */
/*
 * The two bounded tables of an engine: starts that wait for their stop, for all spans of the rules
 * (docs/rules.md, `pair`), and values of `set` gauges.
 *
 * Bounded: beyond SPANS_MAX starts the oldest is evicted. A start without a stop is dropped when
 * the next event of its span comes after the span's time-out. Only the consumer that owns the table
 * may call these functions. Times rise, except that a live session may deliver the events of one
 * processor late.
 */
#ifndef RULES_TABLES_H
#define RULES_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "exporter/rules/language/collector.h"
#include "metrics/registry.h"

struct spans; /* opaque */

enum { SPANS_MAX = 65536 };

/* timeouts: one for each span, in ticks; copied. skew: the most ticks by which the clocks of
 * processors differ. */
struct spans *spans_new(const uint64_t *timeouts, size_t count, uint64_t skew,
			struct etw_error *err);
void spans_free(struct spans *spans);

/*
 * Adds a start. key: a seeded hash of the values that the events of a span share. It replaces an
 * earlier start with this key, which then had no stop. If a later start is present, this one came
 * late and has no stop.
 *
 * Returns an array of SPAN_CAPTURED_MAX ids for the captured labels, all INTERN_NONE; the caller
 * fills it. It is valid until the next call. Returns NULL if the start is not kept, because it came
 * late or without memory.
 */
uint32_t *spans_start(struct spans *spans, size_t span, uint64_t key, int64_t time);

/* Returns the array of captured label ids of a waiting start; NULL if there is no such start. */
uint32_t *spans_captured(struct spans *spans, size_t span, uint64_t key, int64_t time);

/* Removes the start, and sets *start to its time, which may be later than `time` within the
 * skew. Copies its SPAN_CAPTURED_MAX ids to `captured`. Returns false, and counts an unmatched
 * stop, if there is no such start. */
bool spans_stop(struct spans *spans, size_t span, uint64_t key, int64_t time, int64_t *start,
		uint32_t *captured);

/* Does the same for a span with `keep`: the start stays, and waits for its time-out anew. */
bool spans_use(struct spans *spans, size_t span, uint64_t key, int64_t time, uint32_t *captured);

/* Counts an event whose key is unknown as an unmatched start or stop. */
void spans_miss(struct spans *spans, bool start);

/*
 * Takes over the starts from the table that this one replaces. numbers[i]: the number in `from` of
 * span i of this table, or SPAN_NEW. Counts continue; starts whose span is not in this table count
 * as unmatched.
 */
void spans_take_over(struct spans *spans, const struct spans *from, const uint16_t *numbers);

enum { SPAN_NEW = UINT16_MAX };

/* Forgets all starts, which count as unmatched. */
void spans_reset(struct spans *spans);

struct spans_statistics {
	uint64_t entries;
	uint64_t evictions;        /* starts evicted because the table was full */
	uint64_t unmatched_starts; /* starts that timed out, were replaced, evicted or forgotten */
	uint64_t unmatched_stops;
};
const struct spans_statistics *spans_statistics(const struct spans *spans);

/* ---- values of set gauges ---- */

/*
 * Values of `set` gauges: one for each running process; the sample shows their sum.
 *
 * Bounded: beyond GAUGES_MAX values the one that was set longest ago is evicted. Only one consumer
 * may use it: it has no lock.
 */

struct gauges; /* opaque */

enum { GAUGES_MAX = 65536 };

struct gauges *gauges_new(struct etw_error *err);
void gauges_free(struct gauges *gauges);

/* Sets the value of a process instance in a sample from `time` on, and adds the change to the
 * sample's cells. Ignored if a newer value is present. */
void gauges_set(struct gauges *gauges, uint64_t instance, cell *cells, uint64_t value,
		int64_t time);

/* A process has ended: subtracts the values that it set up to `until` from their samples. */
void gauges_end_instance(struct gauges *gauges, uint64_t instance, int64_t until);

/* Removes the values of some families from their samples. has: returns whether a cell belongs to
 * such a family. */
void gauges_leave(struct gauges *gauges, bool (*has)(void *context, const cell *at), void *context);

/* Removes the values of all processes from their samples. */
void gauges_reset(struct gauges *gauges);

/* The number of values in the table, and the number of evicted ones. */
uint64_t gauges_count(const struct gauges *gauges);
uint64_t gauges_evictions(const struct gauges *gauges);

#endif
