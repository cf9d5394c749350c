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

/* Returns where the schema comes from, as the member `decoded_by` shows it; NULL if schema is NULL.
 */
const char *etw_schema_origin_name(const struct etw_schema *schema);

/* ---- values ---- */

/* Filled by etw_event_fields_locate(); schema and record are borrowed and must outlive it. */
struct etw_event_fields {
	const struct etw_schema *schema;
	const struct etw_record *record;
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	unsigned end;   /* fields before this index are whole, structures with all their members */
	uint32_t rest;  /* bytes of the payload after the last field */
	bool truncated; /* the payload ended inside a field */
	struct etw_text scratch;
};

void etw_event_fields_locate(struct etw_event_fields *fields, const struct etw_schema *schema,
			     const struct etw_record *record);
void etw_event_fields_done(struct etw_event_fields *fields);

/* Adds the value of a field before `end`: an array becomes a list, a structure an object. */
void etw_event_fields_json(struct etw_event_fields *fields, unsigned index, struct json *json);

/* Adds keys and values of the fields first … end - 1. */
void etw_event_fields_members(struct etw_event_fields *fields, unsigned first, unsigned end,
			      struct json *json);

/* ---- whole events ---- */

/*
 * Adds the event as one object, without a line feed. schema: the layout of the record; NULL if none
 * is known. provider_name: the name of a provider that is not a kernel class; NULL if none is
 * known. event_name: NULL takes the name from the schema. more() may add further members to the
 * object; it may be NULL.
 */
void etw_event_json_add(struct etw_text *out, const struct etw_record *record,
			const char *provider_name, const char *event_name,
			const struct etw_schema *schema,
			void (*more)(void *context, struct json *json), void *context);

#endif
