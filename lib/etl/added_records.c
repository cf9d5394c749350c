/* SPDX-License-Identifier: MIT */

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include <etw/mirror.h>

#include "base/array.h"
#include "base/error.h"

struct etw_added_record {
	int64_t raw_time;
	size_t at; /* in bytes */
	uint16_t size;
	uint16_t processor;
};

bool etw_added_records_keep(struct etw_added_records *added, const struct etw_out_record *record,
			    uint8_t pointer_size, uint32_t processors, struct etw_error *err)
{
	size_t size = etw_out_record_size(record), at = added->bytes.size;
	struct etw_added_record *grown;

	if (record->processor >= processors) {
		return error_set(err, ETW_ERROR_FORMAT,
				 "cpu: expected a number from 0 to %" PRIu32 ", found %u",
				 processors > 0 ? processors - 1 : 0, (unsigned)record->processor);
	}
	assert(size <= UINT16_MAX);
	grown = array_grow(added->records, &added->capacity, added->count, sizeof *grown);
	if (grown) {
		added->records = grown;
		etw_payload_zeros(&added->bytes, size);
	}
	if (!grown || added->bytes.failed) {
		return error_no_memory(err, "the records to add");
	}
	etw_out_record_store(record, pointer_size, added->bytes.bytes + at);
	added->records[added->count++] =
		(struct etw_added_record){ .raw_time = record->raw_time,
					   .at = at,
					   .size = (uint16_t)size,
					   .processor = record->processor };
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct etw_added_record *x = a, *y = b;

	if (x->raw_time != y->raw_time) {
		return x->raw_time < y->raw_time ? -1 : 1;
	}
	return x->at < y->at ? -1 : x->at > y->at;
}

void etw_added_records_write(struct etw_added_records *added, struct etw_writer *writer)
{
	if (added->count > 0) {
		qsort(added->records, added->count, sizeof *added->records, compare);
	}
	for (size_t i = 0; i < added->count; i++) {
		const struct etw_added_record *record = &added->records[i];

		etw_writer_add_raw(writer, record->processor, record->raw_time,
				   added->bytes.bytes + record->at, record->size);
	}
}

void etw_added_records_done(struct etw_added_records *added)
{
	etw_payload_done(&added->bytes);
	free(added->records);
	*added = (struct etw_added_records){ .records = NULL };
}
