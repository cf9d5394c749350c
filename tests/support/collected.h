/* SPDX-License-Identifier: MIT */
/*
 * What a pass over a recording delivered, in the order in which it did; for tests of order and
 * completeness.
 */
#ifndef SUPPORT_COLLECTED_H
#define SUPPORT_COLLECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/source/event_record.h"

struct collected_record {
	uint64_t index;
	int64_t raw_time;
	uint64_t hash; /* of everything that the record says, its payload and items included */
};

/* Zero-initialise it. */
struct collected {
	struct collected_record *records; /* owned */
	size_t count;
	size_t capacity;
	bool count_only;  /* touch every byte, but remember nothing */
	uint64_t touched; /* sum of all hashes */
};

/* For sinks and visitors: context is a struct collected. Ends the program without memory. */
void collect(void *context, const struct etw_record *record);

/* Sorts by time; records of equal time stay as they are, those without time come first. */
void collected_sort(struct collected *collected);

bool collected_equal(const struct collected *a, const struct collected *b);

void collected_done(struct collected *collected);

#endif
