/* SPDX-License-Identifier: MIT */
/*
 * The fields of one event, located in its payload, and their values as JSON.
 */
#ifndef TOOL_EVENT_FIELDS_H
#define TOOL_EVENT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "decode/schema.h"
#include "source/event_record.h"

/* Filled by event_fields_locate(); both borrowed things must outlive it. */
struct event_fields {
	const struct schema *schema;
	const struct event_record *record;
	struct field_slice slices[SCHEMA_FIELDS_MOST];
	unsigned end;   /* fields before this one are whole, structures with all that is in them */
	uint32_t rest;  /* bytes of the payload behind the last field */
	bool truncated; /* the payload ended inside a field */
	struct text scratch;
};

void event_fields_locate(struct event_fields *fields, const struct schema *schema,
			 const struct event_record *record);
void event_fields_done(struct event_fields *fields);

/* Adds the value of a field before `end`: of arrays a list, of structures an object. */
void event_fields_json(struct event_fields *fields, unsigned index, struct json *json);

#endif
