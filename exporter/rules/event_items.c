/* SPDX-License-Identifier: MIT */
#include "rules/event_items.h"

#include <string.h>

#include "decode/text_forms.h"

enum { MATCH_ID_SIZE = 8 };

static const struct field guid = { .name = "", .type = FIELD_GUID, .size = { 16, 16 } };
static const struct field sid = { .name = "", .type = FIELD_SID };
static const struct field u32 = { .name = "", .type = FIELD_U32, .size = { 4, 4 } };
static const struct field u64 = { .name = "", .type = FIELD_U64, .size = { 8, 8 } };
static const struct field text = { .name = "", .type = FIELD_ASTRING };

static const struct {
	const struct field *field;
	enum extended_type type, other; /* other: 0 for none */
} items[DERIVED_COUNT] = {
	[DERIVED_RELATED_ACTIVITY] = { &guid, EXTENDED_RELATED_ACTIVITY, 0 },
	[DERIVED_SID] = { &sid, EXTENDED_SID, 0 },
	[DERIVED_TERMINAL_SESSION] = { &u32, EXTENDED_SESSION_ID, 0 },
	[DERIVED_STACK_DEPTH] = { &u64, EXTENDED_STACK64, EXTENDED_STACK32 },
	[DERIVED_STACK_MATCH_ID] = { &u64, EXTENDED_STACK64, EXTENDED_STACK32 },
	[DERIVED_EVENT_KEY] = { &u64, EXTENDED_EVENT_KEY, 0 },
	[DERIVED_PROCESS_START_KEY] = { &u64, EXTENDED_PROCESS_START_KEY, 0 },
	[DERIVED_CONTAINER_ID] = { &text, EXTENDED_CONTAINER_ID, 0 },
	[DERIVED_ACTIVITY] = { &guid, 0, 0 },
};

const struct field *event_item_field(enum derived derived)
{
	return items[derived].field;
}

static enum event_item_result read_activity(const struct event_record *record,
					    struct field_slice *slice)
{
	static const struct guid none;

	if (!record->activity || guid_equal(record->activity, &none)) {
		return EVENT_ITEM_NONE;
	}
	*slice = (struct field_slice){ .at = record->activity->bytes,
				       .size = sizeof record->activity->bytes,
				       .count = 1 };
	return EVENT_ITEM_FOUND;
}

static bool is_whole(enum derived derived, const struct extended_item *item)
{
	const struct field *field = items[derived].field;

	if (field == &sid) {
		return sid_size(item->data, item->size) != 0;
	}
	if (derived == DERIVED_STACK_DEPTH || derived == DERIVED_STACK_MATCH_ID) {
		return item->size >= MATCH_ID_SIZE;
	}
	return item->size > 0 && item->size >= field->size[0];
}

enum event_item_result event_item_read(enum derived derived, const struct event_record *record,
				       struct field_slice *slice, uint64_t *depth)
{
	const struct field *field = items[derived].field;
	struct extended_item item;

	if (derived == DERIVED_ACTIVITY) {
		return read_activity(record, slice);
	}
	if (!record_find_extended(record, items[derived].type, &item) &&
	    (items[derived].other == 0 ||
	     !record_find_extended(record, items[derived].other, &item))) {
		return EVENT_ITEM_NONE;
	}
	if (!is_whole(derived, &item)) {
		return EVENT_ITEM_MALFORMED;
	}
	if (derived == DERIVED_STACK_DEPTH) {
		*depth = (item.size - MATCH_ID_SIZE) / (item.type == EXTENDED_STACK64 ? 8U : 4U);
	}
	*slice = (struct field_slice){ .at = item.data,
				       .size = field->size[0] != 0 ? field->size[0] : item.size,
				       .count = 1 };
	return EVENT_ITEM_FOUND;
}
