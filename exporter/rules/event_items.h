/* SPDX-License-Identifier: MIT */
/*
 * The derived fields `Event.…`: what stands beside an event's payload, in its extended items and
 * its header.
 *
 * Source: docs/etl-format.md section 9.
 */
#ifndef RULES_EVENT_ITEMS_H
#define RULES_EVENT_ITEMS_H

#include "decode/schema.h"
#include "rules/derived.h"

/* How a value of the field is read; NULL: the derived field is none of these. */
const struct field *event_item_field(enum derived derived);

enum event_item_result { EVENT_ITEM_FOUND, EVENT_ITEM_NONE, EVENT_ITEM_MALFORMED };

/* Found: *slice holds the value, or for the depth of a stack *depth. */
enum event_item_result event_item_read(enum derived derived, const struct event_record *record,
				       struct field_slice *slice, uint64_t *depth);

#endif
