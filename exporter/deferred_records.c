/* SPDX-License-Identifier: MIT */
/*
 * Records kept for the end of a look-ahead.
 */
#include "deferred_records.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORDS_MOST = 1 << 18,
	PAYLOADS_MOST = 64 << 20,
};

struct deferred_record {
	struct event_record record; /* provider and payload are set when it is asked for */
	struct guid provider;
	size_t payload; /* offset in payloads */
};

static bool make_room(struct deferred_records *late, size_t payload_size)
{
	if (late->count == RECORDS_MOST || payload_size > PAYLOADS_MOST - late->payloads_size) {
		return false;
	}
	if (late->count == late->capacity) {
		size_t capacity = late->capacity ? 2 * late->capacity : 64;
		struct deferred_record *records =
			realloc(late->records, capacity * sizeof *records);

		if (!records) {
			return false;
		}
		late->records = records;
		late->capacity = capacity;
	}
	if (!late->payloads || payload_size > late->payloads_capacity - late->payloads_size) {
		size_t capacity = 2 * (late->payloads_capacity + payload_size) + 4096;
		uint8_t *payloads = realloc(late->payloads, capacity);

		if (!payloads) {
			return false;
		}
		late->payloads = payloads;
		late->payloads_capacity = capacity;
	}
	return true;
}

void deferred_records_keep(struct deferred_records *late, const struct event_record *record)
{
	struct deferred_record *kept;

	if (!make_room(late, record->payload_size)) {
		return;
	}
	kept = &late->records[late->count++];
	*kept = (struct deferred_record){ .record = *record,
					  .provider = *record->provider,
					  .payload = late->payloads_size };
	kept->record.activity = NULL;
	kept->record.extended = NULL;
	kept->record.extended_size = 0;
	memcpy(late->payloads + late->payloads_size, record->payload, record->payload_size);
	late->payloads_size += record->payload_size;
}

struct event_record deferred_records_at(const struct deferred_records *late, size_t index)
{
	struct event_record record = late->records[index].record;

	record.provider = &late->records[index].provider;
	record.payload = late->payloads + late->records[index].payload;
	return record;
}

void deferred_records_done(struct deferred_records *late)
{
	free(late->records);
	free(late->payloads);
	*late = (struct deferred_records){ .records = NULL };
}
