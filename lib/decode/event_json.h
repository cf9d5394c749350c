/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON, and the fields of one event, located in its payload.
 */
#ifndef LIB_DECODE_EVENT_JSON_H
#define LIB_DECODE_EVENT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

/* Where the schema comes from, as `decoded_by` shows it; NULL when schema is NULL. */
const char *schema_origin_name(const struct etw_schema *schema);

/* ---- values ---- */

/* Filled by event_fields_locate(); both borrowed things must outlive it. */
struct event_fields {
	const struct etw_schema *schema;
	const struct etw_record *record;
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	unsigned end;   /* fields before this one are whole, structures with all that is in them */
	uint32_t rest;  /* bytes of the payload behind the last field */
	bool truncated; /* the payload ended inside a field */
	struct etw_text scratch;
};

void event_fields_locate(struct event_fields *fields, const struct etw_schema *schema,
			 const struct etw_record *record);
void event_fields_done(struct event_fields *fields);

/* Adds the value of a field before `end`: of arrays a list, of structures an object. */
void event_fields_json(struct event_fields *fields, unsigned index, struct json *json);

/* Adds keys and values of the fields first … end - 1. */
void event_fields_members(struct event_fields *fields, unsigned first, unsigned end,
			  struct json *json);

/* ---- whole events ---- */

/*
 * Adds the event as one object, without a line feed. schema: of the record; NULL: no layout is
 * known. provider_name: the name of a provider that is no kernel class; NULL: none is known.
 */
void event_json_add(struct etw_text *out, const struct etw_record *record,
		    const char *provider_name, const struct etw_schema *schema);

#endif
