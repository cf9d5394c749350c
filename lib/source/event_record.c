/* SPDX-License-Identifier: MIT */
/*
 * The names of the record types, and the walk over the extended items of a record.
 */
#include "lib/source/event_record.h"

#include "base/cursor.h"

enum { ITEM_HEADER_SIZE = 8 }; /* docs/etl-format.md section 9 */

const char *record_type_name(enum record_type type)
{
	static const char *const names[RECORD_TYPE_COUNT] = {
		[RECORD_SYSTEM] = "system",     [RECORD_COMPACT] = "compact",
		[RECORD_PERFINFO] = "perfinfo", [RECORD_EVENT] = "event",
		[RECORD_FULL] = "full",         [RECORD_INSTANCE] = "instance",
		[RECORD_STRING] = "event",     [RECORD_MESSAGE] = "message",
		[RECORD_TIMED] = "timed",       [RECORD_ERROR] = "error",
		[RECORD_WNODE] = "wnode",       [RECORD_MESSAGE_TYPED] = "message_typed",
		[RECORD_UNKNOWN] = "unknown",
	};

	return (unsigned)type < RECORD_TYPE_COUNT ? names[type] : "unknown";
}

bool record_next_extended(const struct event_record *record, uint32_t *offset,
			  struct extended_item *item)
{
	const uint8_t *at;

	if (!record->extended || *offset >= record->extended_size) {
		return false;
	}
	at = record->extended + *offset;
	*item = (struct extended_item){
		.type = load_u16(at + 2),
		.size = load_u16(at + 6),
		.data = at + ITEM_HEADER_SIZE,
	};
	*offset += load_u16(at);
	return true;
}

bool record_find_extended(const struct event_record *record, enum extended_type type,
			  struct extended_item *item)
{
	struct extended_item next;
	uint32_t offset = 0;

	while (record_next_extended(record, &offset, &next)) {
		if (next.type == type) {
			*item = next;
			return true;
		}
	}
	return false;
}
