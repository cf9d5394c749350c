/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON, and the fields of one event, located in its payload.
 */
#ifndef ETW_EVENT_JSON_H
#define ETW_EVENT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/schema.h>
#include <etw/types.h>

struct json; /* opaque: what writes JSON */

/* Where the schema comes from, as `decoded_by` shows it; NULL when schema is NULL. */
const char *etw_schema_origin_name(const struct etw_schema *schema);

/* ---- values ---- */

/* Filled by etw_event_fields_locate(); both borrowed things must outlive it. */
struct etw_event_fields {
	const struct etw_schema *schema;
	const struct etw_record *record;
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	unsigned end;   /* fields before this one are whole, structures with all that is in them */
	uint32_t rest;  /* bytes of the payload behind the last field */
	bool truncated; /* the payload ended inside a field */
	struct etw_text scratch;
};

void etw_event_fields_locate(struct etw_event_fields *fields, const struct etw_schema *schema,
			     const struct etw_record *record);
void etw_event_fields_done(struct etw_event_fields *fields);

/* Adds the value of a field before `end`: of arrays a list, of structures an object. */
void etw_event_fields_json(struct etw_event_fields *fields, unsigned index, struct json *json);

/* Adds keys and values of the fields first … end - 1. */
void etw_event_fields_members(struct etw_event_fields *fields, unsigned first, unsigned end,
			      struct json *json);

/* ---- whole events ---- */

/*
 * Adds the event as one object, without a line feed. schema: of the record; NULL: no layout is
 * known. provider_name: the name of a provider that is no kernel class; NULL: none is known.
 * event_name: NULL: that of the schema. more() may add members of its own; NULL: there are none.
 */
void etw_event_json_add(struct etw_text *out, const struct etw_record *record,
			const char *provider_name, const char *event_name,
			const struct etw_schema *schema,
			void (*more)(void *context, struct json *json), void *context);

#endif
