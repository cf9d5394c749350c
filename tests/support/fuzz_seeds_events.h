/* SPDX-License-Identifier: MIT */
/*
 * Records to fuzz from, in the form that fuzz_events takes.
 */
#ifndef SUPPORT_FUZZ_SEEDS_EVENTS_H
#define SUPPORT_FUZZ_SEEDS_EVENTS_H

#include <stdbool.h>

#include <etw/mirror.h>

#include "lib/source/event_record.h"

/*
 * Writes seed number `index` into an initialised payload and sets *name; false: there are no more.
 */
bool fuzz_events_seed(unsigned index, struct etw_payload *seed, const char **name);

/* Adds a record of a recording to a seed that has begun with its first byte. */
void fuzz_events_add(struct etw_payload *seed, const struct etw_record *record);

#endif
