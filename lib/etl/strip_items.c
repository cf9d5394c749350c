/* SPDX-License-Identifier: MIT */

#include <stdbool.h>
#include <string.h>

#include <etw/mirror.h>

#include "base/cursor.h"
#include "base/store.h"

enum { HEADER_EVENT = 80, FLAGS_AT = 4, FLAG_EXTENDED = 0x0001, LINKAGE_AT = 4, LINKAGE_MORE = 1 };

size_t etw_strip_items(const struct etw_record *record, const uint8_t *bytes, size_t size,
		       uint32_t types, uint8_t *out)
{
	struct etw_extended_item item;
	uint8_t *last = NULL; /* last item in the copy */
	size_t used = HEADER_EVENT;
	uint32_t offset = 0, begin = 0;
	bool any = false;

	if (!record->extended ||
	    HEADER_EVENT + record->extended_size + record->payload_size != size) {
		return 0;
	}
	while (etw_record_next_extended(record, &offset, &item)) {
		any |= item.type < 32 && (types >> item.type & 1);
	}
	if (!any) {
		return 0;
	}
	memcpy(out, bytes, HEADER_EVENT);
	for (offset = 0; etw_record_next_extended(record, &offset, &item); begin = offset) {
		if (item.type < 32 && (types >> item.type & 1)) {
			continue;
		}
		last = out + used;
		memcpy(last, record->extended + begin, offset - begin);
		store_u16(last + LINKAGE_AT, etw_load_u16(last + LINKAGE_AT) | LINKAGE_MORE);
		used += offset - begin;
	}
	if (last) {
		store_u16(last + LINKAGE_AT,
			  etw_load_u16(last + LINKAGE_AT) & (uint16_t)~LINKAGE_MORE);
	} else {
		store_u16(out + FLAGS_AT, etw_load_u16(out + FLAGS_AT) & (uint16_t)~FLAG_EXTENDED);
	}
	memcpy(out + used, record->payload, record->payload_size);
	used += record->payload_size;
	store_u16(out, (uint16_t)used);
	return used;
}
