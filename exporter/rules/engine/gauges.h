/* SPDX-License-Identifier: MIT */
/*
 * Gauges that are set: one value for each running process, their sum in the sample.
 *
 * Bounded: beyond GAUGES_MAX values the one that was set longest ago gives its place up. One
 * consumer's.
 */
#ifndef RULES_GAUGES_H
#define RULES_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "metrics/registry.h"

struct gauges; /* opaque */

enum { GAUGES_MAX = 65536 };

struct gauges *gauges_new(struct etw_error *err);
void gauges_free(struct gauges *gauges);

/* The value of an instance in a sample since `time`; cells: the sample's. Ignored if a newer one is
 * there. */
void gauges_set(struct gauges *gauges, uint64_t instance, cell *cells, uint64_t value,
		int64_t time);

/* A process has ended: the values that it set up to that time leave their samples. */
void gauges_end_instance(struct gauges *gauges, uint64_t instance, int64_t until);

/* The values in samples of some families leave them; has: whether a cell is of such a sample. */
void gauges_leave(struct gauges *gauges, bool (*has)(void *context, const cell *at), void *context);

/* All processes at once. */
void gauges_reset(struct gauges *gauges);

/* Values that are kept; those that gave their place up. */
uint64_t gauges_count(const struct gauges *gauges);
uint64_t gauges_evictions(const struct gauges *gauges);

#endif
