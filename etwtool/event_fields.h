/* SPDX-License-Identifier: MIT */
/*
 * The fields of an event class by the names that rules take, members of structures as
 * "structure.member", and their values as people want to see them.
 */
#ifndef ETWTOOL_EVENT_FIELDS_H
#define ETWTOOL_EVENT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/event_json.h>
#include <etw/record.h>
#include <etw/schema.h>

#include "base/text.h"

/* ---- names ---- */

/*
 * A walk over the fields that have a value of their own: members of structures instead of these,
 * arrays of structures as one field. Zero-initialise it.
 */
struct field_walk {
	unsigned index;
	struct etw_text name; /* owned until the walk has ended */
	unsigned behind;
};

/* Sets index and name. False at the end, and at once when schema is NULL. */
bool field_walk_next(struct field_walk *walk, const struct etw_schema *schema);

/* Adds the whole name, of a member of an array of structures that of the first element's. */
void field_name_add(const struct etw_schema *schema, unsigned index, struct etw_text *out);

/* What its values are, or those of its elements: "u32", "text", "guid". */
const char *field_type_name(const struct etw_field *field);

/* The ends of names, without regard to case; a NULL follows the last. */
bool name_ends_in_one_of(const char *name, const char *const *ends);

/* Whether a number of the field is an address: of no use as a label, and no amount. */
bool field_is_address(const struct etw_field *field);
/* Whether a number of the field is a set of flags or a status: no amount to add up. */
bool field_is_code(const struct etw_field *field);
/* The decoder of rules for its statuses ("ntstatus"); NULL: none. */
const char *field_status_decoder(const struct etw_field *field);

/* ---- values for people ---- */

/*
 * Adds the value of a field before `end` for people: text in quotes, with characters that steer a
 * terminal escaped; numbers by the name that the field has for them; pointers, flags and statuses
 * in hexadecimal; of long binary data the beginning; lists as [1,2], structures as {a=1,b=2}.
 */
void event_fields_shown(struct etw_event_fields *fields, unsigned index, struct etw_text *out);

/* The same for one located field without its structure. */
void field_shown(const struct etw_field *field, const struct etw_field_slice *slice,
		 struct etw_text *out);

/* Adds text for people, in quotes that it does not contain. */
void text_add_quoted_shown(struct etw_text *out, const char *bytes, size_t size);

#endif
