/* SPDX-License-Identifier: MIT */
/*
 * Collects the records of a pass over a recording in the order of delivery, for tests of order and
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
	uint64_t hash; /* hash of the whole record, including its payload and items */
};

/* Zero-initialise it. */
struct collected {
	struct collected_record *records; /* owned */
	size_t count;
	size_t capacity;
	bool count_only;  /* read every byte, but store no record */
	uint64_t touched; /* sum of all hashes */
};

/* A callback of sinks and visitors; context is a struct collected. Ends the program if memory runs
 * out. */
void collect(void *context, const struct etw_record *record);

/* Sorts by time. Records with equal times keep their order; those without a time come first. */
void collected_sort(struct collected *collected);

bool collected_equal(const struct collected *a, const struct collected *b);

void collected_done(struct collected *collected);

#endif
