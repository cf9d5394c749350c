/* SPDX-License-Identifier: MIT */

#include <string.h>

#include <etw/mirror.h>

#include "base/store.h"

bool etw_payload_is_whole(const struct etw_record *record, const uint8_t *bytes, size_t size)
{
	/* An empty payload points to a static place, so its address cannot be compared. */
	uintptr_t at = (uintptr_t)record->payload, start = (uintptr_t)bytes;

	return at >= start && at - start <= size && size - (at - start) == record->payload_size;
}

/* Kernel records have their version first and their size second (docs/etl-format.md section 4). */
static size_t size_offset(const struct etw_record *record)
{
	switch (record->type) {
	case ETW_RECORD_SYSTEM:
	case ETW_RECORD_COMPACT:
	case ETW_RECORD_PERFINFO:
		return 4;
	default:
		return 0;
	}
}

size_t etw_replace_payload(const struct etw_record *record, const uint8_t *bytes, size_t size,
			   const void *payload, size_t payload_size, uint8_t *out)
{
	size_t header;

	if (!etw_payload_is_whole(record, bytes, size)) {
		return 0;
	}
	header = size - record->payload_size;
	if (payload_size > ETW_RECORD_SIZE_MOST - header) {
		return 0;
	}
	memcpy(out, bytes, header);
	if (payload_size > 0) {
		memcpy(out + header, payload, payload_size);
	}
	store_u16(out + size_offset(record), (uint16_t)(header + payload_size));
	return header + payload_size;
}
