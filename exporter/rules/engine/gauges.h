/* SPDX-License-Identifier: MIT */
/*
 * Values of `set` gauges: one for each running process; the sample shows their sum.
 *
 * Bounded: beyond GAUGES_MAX values the one that was set longest ago is evicted. Only one consumer
 * may use it: it has no lock.
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
