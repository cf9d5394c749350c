/* SPDX-License-Identifier: MIT */
/*
 * The names of the record types, and the walk over the extended items of a record.
 */
#include "lib/source/event_record.h"

#include "base/cursor.h"

enum { ITEM_HEADER_SIZE = 8 }; /* docs/etl-format.md section 9 */

const char *etw_record_type_name(enum etw_record_type type)
{
	static const char *const names[ETW_RECORD_TYPE_COUNT] = {
		[ETW_RECORD_SYSTEM] = "system",     [ETW_RECORD_COMPACT] = "compact",
		[ETW_RECORD_PERFINFO] = "perfinfo", [ETW_RECORD_EVENT] = "event",
		[ETW_RECORD_FULL] = "full",         [ETW_RECORD_INSTANCE] = "instance",
		[ETW_RECORD_STRING] = "event",      [ETW_RECORD_MESSAGE] = "message",
		[ETW_RECORD_TIMED] = "timed",       [ETW_RECORD_ERROR] = "error",
		[ETW_RECORD_WNODE] = "wnode",       [ETW_RECORD_MESSAGE_TYPED] = "message_typed",
		[ETW_RECORD_UNKNOWN] = "unknown",
	};

	return (unsigned)type < ETW_RECORD_TYPE_COUNT ? names[type] : "unknown";
}

bool etw_record_next_extended(const struct etw_record *record, uint32_t *offset,
			      struct etw_extended_item *item)
{
	const uint8_t *at;

	if (!record->extended || *offset >= record->extended_size) {
		return false;
	}
	at = record->extended + *offset;
	*item = (struct etw_extended_item){
		.type = etw_load_u16(at + 2),
		.size = etw_load_u16(at + 6),
		.data = at + ITEM_HEADER_SIZE,
	};
	*offset += etw_load_u16(at);
	return true;
}

bool etw_record_find_extended(const struct etw_record *record, enum etw_extended_type type,
			      struct etw_extended_item *item)
{
	struct etw_extended_item next;
	uint32_t offset = 0;

	while (etw_record_next_extended(record, &offset, &next)) {
		if (next.type == type) {
			*item = next;
			return true;
		}
	}
	return false;
}
