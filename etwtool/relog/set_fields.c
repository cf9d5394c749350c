/* SPDX-License-Identifier: MIT */
/*
 * Changes events as assignments on the command line say.
 *
 * An assignment is parsed from its right: events of some providers have slashes in their names, and
 * names of providers have dots, so the field begins after the first dot that follows the last
 * slash. The part before it is a pattern of rules.
 *
 * Whether an assignment applies to an event depends only on the event class. Classes without an
 * assignment are remembered, because they are most of a recording. The struct of a class can be
 * reused for another class, so set_fields_class() removes it from them.
 *
 * All payload fields of one record are changed in one step, because fields can depend on each
 * other, such as a text and its length. Header values are then changed in the new record. A changed
 * version or id does not change the payload: the user must choose values that fit together.
 *
 * An event of another version may lack a field. The event then stays unchanged. It is an error only
 * if no event has the field; set_fields_found() reports it with the nearest name.
 */
#include "etwtool/relog/relog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>

#include "base/array.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/text.h"
#include "etwtool/event_fields.h"
#include "exporter/rules/language/event_pattern.h"

struct assignment {
	const char *text; /* borrowed */
	struct event_pattern pattern;
	char *field;                           /* without @; owned */
	const struct etw_header_field *header; /* NULL: it is a payload field */
	struct json_document document;
	struct etw_json_value word; /* the value, unless it is a list or an object */
	const struct etw_json_value *value;
	struct etw_guid guid;   /* value of @provider */
	uint64_t number;        /* value of the other header fields */
	bool event_met;         /* an event matched */
	bool field_met;         /* … and had the field */
	struct nearest nearest; /* nearest field name in matching events */
	char suggestion[65];    /* a longer name gets no suggestion */
};

/* ---- the command line ---- */

static bool bad_form(struct etw_error *err, const char *text)
{
	return error_set(err, ETW_ERROR_CONFIG,
			 "expected EVENT.FIELD=VALUE, as in 'Image/Load.FileName=C:\\x.dll', found "
			 "\"%.200s\"",
			 text);
}

static bool read_header_value(struct assignment *assignment, const char *value,
			      struct etw_error *err)
{
	assignment->header = etw_header_field_find(assignment->field);
	if (!assignment->header) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "\"%.200s\": a header has no value @%.60s; it has @provider, @id, "
				 "@version, @opcode, @level, @task, @keyword, @pid and @tid",
				 assignment->text, assignment->field);
	}
	if (etw_header_field_is_guid(assignment->header)) {
		return etw_guid_parse(value, &assignment->guid) ||
		       error_set(err, ETW_ERROR_CONFIG,
				 "\"%.200s\": expected a GUID after the =", assignment->text);
	}
	return parse_u64(value, strlen(value), &assignment->number) ||
	       error_set(err, ETW_ERROR_CONFIG,
			 "\"%.200s\": expected a number after the =", assignment->text);
}

static bool read_value(struct assignment *assignment, const char *value, struct etw_error *err)
{
	if (*value != '[' && *value != '{') {
		assignment->word = (struct etw_json_value){ .type = JSON_TEXT,
							    .text = value,
							    .size = strlen(value) };
		return true;
	}
	assignment->value = json_read(&assignment->document, value, strlen(value), err);
	return assignment->value ||
	       error_prefix(err, "\"%.200s\": the value is no JSON", assignment->text);
}

static bool read_assignment(struct assignment *assignment, struct etw_error *err)
{
	const char *text = assignment->text;
	const char *equals = strchr(text, '='), *slash = text, *dot;

	for (const char *at = text; equals && at < equals; at++) {
		slash = *at == '/' ? at : slash;
	}
	dot = equals ? memchr(slash, '.', (size_t)(equals - slash)) : NULL;
	if (!dot || dot == text || dot + 1 == equals) {
		return bad_form(err, text);
	}
	if (!event_pattern_parse(text, (size_t)(dot - text), &assignment->pattern, err)) {
		return error_prefix(err, "\"%.200s\"", text);
	}
	dot += dot[1] == '@' ? 2 : 1;
	assignment->field = text_duplicate(dot, (size_t)(equals - dot));
	if (!assignment->field) {
		return error_no_memory(err, "an assignment");
	}
	return dot[-1] == '@' ? read_header_value(assignment, equals + 1, err) :
				read_value(assignment, equals + 1, err);
}

static void assignment_done(struct assignment *assignment)
{
	free(assignment->field);
	json_document_done(&assignment->document);
}

bool set_fields_add(void *set_fields, const char *text, struct etw_error *err)
{
	struct set_fields *set = set_fields;
	struct assignment assignment = { .text = text };
	struct assignment *grown;
	struct etw_encode_change *changes;

	if (!read_assignment(&assignment, err)) {
		assignment_done(&assignment);
		return false;
	}
	grown = array_grow(set->assignments, &set->capacity, set->count, sizeof *grown);
	if (grown) {
		set->assignments = grown;
	}
	changes = grown ? realloc(set->changes, (set->count + 1) * sizeof *changes) : NULL;
	if (!changes) {
		assignment_done(&assignment);
		return error_no_memory(err, "an assignment");
	}
	set->changes = changes;
	set->assignments[set->count++] = assignment;
	return true;
}

void set_fields_done(struct set_fields *set_fields)
{
	for (size_t i = 0; i < set_fields->count; i++) {
		assignment_done(&set_fields->assignments[i]);
	}
	free(set_fields->assignments);
	free(set_fields->changes);
	map_done(&set_fields->idle);
	etw_payload_done(&set_fields->payload);
	set_fields->assignments = NULL;
	set_fields->changes = NULL;
	set_fields->count = set_fields->capacity = 0;
}

/* ---- records ---- */

void set_fields_class(struct set_fields *set_fields, const struct etw_event_class *class)
{
	map_remove(&set_fields->idle, (uintptr_t) class);
}

/* Tries the field names of the schema as suggestions. */
static void offer_fields(struct assignment *assignment, const struct etw_schema *schema)
{
	struct nearest *nearest = &assignment->nearest;
	struct field_walk walk = { 0 };

	nearest->word = assignment->field;
	nearest->size = strlen(assignment->field);
	while (field_walk_next(&walk, schema)) {
		const char *before = nearest->best;

		if (walk.name.data) {
			nearest_offer(nearest, walk.name.data);
		}
		if (nearest->best != before) { /* the walk owns the name */
			snprintf(assignment->suggestion, sizeof assignment->suggestion, "%s",
				 nearest->best);
			nearest->best = assignment->suggestion;
		}
	}
}

/* Collects the payload changes for this class; a later assignment wins. */
static size_t collect_changes(struct set_fields *set, const struct etw_event_class *class,
			      bool *any)
{
	size_t count = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct assignment *assignment = &set->assignments[i];
		size_t at = 0;
		int index;

		if (!event_pattern_matches(&assignment->pattern, class)) {
			continue;
		}
		*any = true;
		assignment->event_met = true;
		if (assignment->header || !class->schema) {
			continue;
		}
		index = etw_schema_find_field(class->schema, assignment->field);
		if (index < 0) {
			offer_fields(assignment, class->schema);
			continue;
		}
		assignment->field_met = true;
		while (at < count && set->changes[at].index != (unsigned)index) {
			at++;
		}
		set->changes[at] = (struct etw_encode_change){
			.index = (unsigned)index,
			.value = assignment->value ? assignment->value : &assignment->word,
		};
		count += at == count;
	}
	return count;
}

/*
 * Builds set->record from the old record and the new payload. Returns its size; 0 if it is too
 * long. If the payload is the same, the whole record is copied unchanged, because a damaged record,
 * or one without payload bytes, has no position for a payload.
 */
static size_t store_payload(struct set_fields *set, const struct etw_record *record,
			    const uint8_t *bytes, size_t size)
{
	const struct etw_payload *payload = &set->payload;

	if (payload->failed) {
		return 0;
	}
	if (payload->size != record->payload_size ||
	    (payload->size > 0 && memcmp(payload->bytes, record->payload, payload->size) != 0)) {
		return etw_replace_payload(record, bytes, size, payload->bytes, payload->size,
					   set->record);
	}
	memcpy(set->record, bytes, size);
	return size;
}

static bool set_header(struct set_fields *set, const struct etw_record *record,
		       const struct etw_event_class *class, struct etw_error *err)
{
	enum etw_record_type type = (enum etw_record_type)record->type;

	for (size_t i = 0; i < set->count; i++) {
		struct assignment *assignment = &set->assignments[i];
		uint64_t most =
			assignment->header ? etw_header_field_most(assignment->header, type) : 0;

		if (most == 0 || !event_pattern_matches(&assignment->pattern, class)) {
			continue;
		}
		assignment->field_met = true;
		if (etw_header_field_is_guid(assignment->header)) {
			etw_header_field_set_guid(assignment->header, type, &assignment->guid,
						  set->record);
		} else if (assignment->number > most) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "\"%.200s\": expected a number from 0 to %" PRIu64,
					 assignment->text, most);
		} else {
			etw_header_field_set(assignment->header, type, assignment->number,
					     set->record);
		}
	}
	return true;
}

enum set_answer set_fields_apply(struct set_fields *set_fields, const struct etw_record *record,
				 const struct etw_event_class *class, const uint8_t **bytes,
				 size_t *size, struct etw_error *err)
{
	struct etw_payload *payload = &set_fields->payload;
	bool any = false;
	size_t count, new_size;

	if (set_fields->count == 0 || map_find(&set_fields->idle, (uintptr_t) class)) {
		return SET_SAME;
	}
	count = collect_changes(set_fields, class, &any);
	if (!any) {
		map_put(&set_fields->idle, (uintptr_t) class, NULL);
		return SET_SAME;
	}
	etw_payload_clear(payload);
	payload->pointer_size = record->pointer_size;
	if (count == 0) {
		etw_payload_bytes(payload, record->payload, record->payload_size);
	} else if (!etw_encode_changed(class->schema, record, set_fields->changes, count, NULL,
				       NULL, payload, err)) {
		error_prefix(err, "%s of event %" PRIu64, class->event_name, record->index);
		return SET_FAILED;
	}
	new_size = store_payload(set_fields, record, *bytes, *size);
	if (payload->failed) {
		error_no_memory(err, "a record");
		return SET_FAILED;
	}
	if (new_size == 0) {
		error_set(err, ETW_ERROR_LIMIT,
			  "event %" PRIu64 " would be longer than a record can be", record->index);
		return SET_FAILED;
	}
	if (!set_header(set_fields, record, class, err)) {
		return SET_FAILED;
	}
	if (new_size == *size && memcmp(set_fields->record, *bytes, new_size) == 0) {
		return SET_SAME;
	}
	*bytes = set_fields->record;
	*size = new_size;
	return SET_CHANGED;
}

bool set_fields_found(const struct set_fields *set_fields, const char *where, struct etw_error *err)
{
	for (size_t i = 0; i < set_fields->count; i++) {
		const struct assignment *assignment = &set_fields->assignments[i];

		if (!assignment->event_met) {
			return error_set(err, ETW_ERROR_CONFIG, "\"%.200s\": %s has no such event",
					 assignment->text, where);
		}
		if (!assignment->field_met) {
			const char *near = assignment->suggestion;

			return error_set(err, ETW_ERROR_CONFIG,
					 "\"%.200s\": none of these events has a %s%s%s%s%s",
					 assignment->text,
					 assignment->header ? "value @" : "field ",
					 assignment->field, *near ? "; did you mean \"" : "", near,
					 *near ? "\"?" : "");
		}
	}
	return true;
}
