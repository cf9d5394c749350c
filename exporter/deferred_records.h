/* SPDX-License-Identifier: MIT */
/*
 * Copies of the few records that can only be understood at the end of a look-ahead, when the
 * recording has told their schemas. Bounded: what no longer fits is left out.
 */
#ifndef EXPORTER_DEFERRED_RECORDS_H
#define EXPORTER_DEFERRED_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "source/event_record.h"

/* Zero-initialise it. */
struct deferred_records {
	struct deferred_record *records; /* owned */
	size_t count, capacity;
	uint8_t *payloads; /* owned; one behind the other */
	size_t payloads_size, payloads_capacity;
};

/* Keeps the record's header and payload; extended items and activity are not. */
void deferred_records_keep(struct deferred_records *late, const struct event_record *record);

/* The record with this index, below count; valid until the next one is kept. */
struct event_record deferred_records_at(const struct deferred_records *late, size_t index);

void deferred_records_done(struct deferred_records *late);

#endif
