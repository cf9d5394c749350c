/* SPDX-License-Identifier: MIT */
/*
 * Collects fields and some of their values from the events of a recording.
 *
 * Fields are distinguished by name and type, because versions of an event may give a field
 * different types, and each type needs its own rule. For an array of structures the members of the
 * first element are shown. Only a limited number of events is searched for values, and long values
 * are skipped. A derived field is listed if an event had a value of it.
 */
#include "etwtool/field_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "etwtool/event_fields.h"

enum {
	SAMPLE_SIZE_MOST = 80,  /* bytes; longer values are skipped */
	SAMPLES_EVENTS = 10000, /* events that are searched for values */
	SAMPLES_FIELDS_MOST = 2 * ETW_SCHEMA_FIELDS_MOST,
};

/*
 * Finds or adds the row with the same name and type and returns its index; samples->count if there
 * is no room.
 */
static size_t place_of(struct field_samples *samples, const struct sampled_field *row)
{
	struct sampled_field *grown;
	size_t i = 0;

	while (i < samples->count && (strcmp(samples->fields[i].name, row->name) != 0 ||
				      strcmp(samples->fields[i].type, row->type) != 0 ||
				      samples->fields[i].list != row->list)) {
		i++;
	}
	if (i < samples->count || samples->count == SAMPLES_FIELDS_MOST) {
		return i;
	}
	grown = array_grow(samples->fields, &samples->capacity, samples->count, sizeof *grown);
	if (grown) {
		samples->fields = grown;
		samples->fields[i] = *row;
		samples->fields[i].name = text_duplicate(row->name, strlen(row->name));
		samples->count += samples->fields[i].name != NULL;
	}
	return i;
}

/* Finds or adds the row of a field. Returns NULL if there is no room. */
static struct sampled_field *row_of(struct field_samples *samples, const struct etw_schema *schema,
				    unsigned index)
{
	const struct etw_field *field = &schema->fields[index];
	uint64_t *place = map_put(&samples->rows, (uintptr_t)field, NULL);
	struct etw_text name = { 0 };

	if (place && *place == 0) {
		struct sampled_field row = {
			.type = field_type_name(field),
			.number = etw_field_is_integer(field),
			.list = etw_field_is_list(field),
			.structures = field->type == ETW_FIELD_STRUCT,
			.address = field_is_address(field),
			.code = field_is_code(field),
			.decoder = field_status_decoder(field),
		};
		size_t found;

		text_add_string(&name, "");
		field_name_add(schema, index, &name);
		row.name = name.data;
		found = name.failed ? samples->count : place_of(samples, &row);
		*place = found < samples->count ? found + 1 : 0;
		text_free(&name);
	}
	if (!place || *place == 0) {
		samples->failed = true;
		return NULL;
	}
	return &samples->fields[*place - 1];
}

/* Takes the value as a sample, unless it is already one, too long, or empty. */
static void take_sample(struct sampled_field *row, struct etw_text *value)
{
	bool known = false;

	for (size_t i = 0; i < row->sample_count && value->data; i++) {
		known |= row->samples[i].size == value->size &&
			 memcmp(row->samples[i].data, value->data, value->size) == 0;
	}
	if (known || value->failed || value->size == 0 || value->size > SAMPLE_SIZE_MOST) {
		text_free(value);
	} else {
		row->samples[row->sample_count++] = *value;
	}
}

static void add_sample(struct sampled_field *row, const struct etw_field *field,
		       const struct etw_field_slice *slice)
{
	struct etw_text value = { 0 };

	(row->number ? field_shown : etw_field_text)(field, slice, &value);
	take_sample(row, &value);
}

/*
 * Adds the fields from first to end - 1, and for an array of structures those of the first element.
 * has_values: the fields of this event are located.
 */
static void add_fields(struct field_samples *samples, struct etw_event_fields *fields,
		       unsigned first, unsigned end, bool has_values)
{
	const struct etw_schema *schema = fields->schema;
	unsigned i = first;

	while (i < end) {
		const struct etw_field *field = &schema->fields[i];
		struct sampled_field *row;
		uint32_t offset = 0;

		has_values = has_values && (first > 0 || i < fields->end);
		if (field->type == ETW_FIELD_STRUCT && !etw_field_is_struct_array(field)) {
			i++;
			continue;
		}
		row = row_of(samples, schema, i);
		if (etw_field_is_struct_array(field)) {
			bool element = has_values &&
				       etw_field_next_struct(schema, i, fields->record,
							     fields->slices, &offset);

			add_fields(samples, fields, i + 1, etw_field_behind(schema, i), element);
		} else if (row && has_values && row->sample_count < SAMPLES_MOST &&
			   fields->slices[i].at) {
			add_sample(row, field, &fields->slices[i]);
		}
		i = etw_field_behind(schema, i);
	}
}

static bool enter_derived(struct sampled_field *field, const struct derived_field *row)
{
	static const char *const types[] = {
		[TYPE_INTEGER] = "integer",
		[TYPE_TEXT] = "text",
		[TYPE_DURATION] = "duration",
	};

	if (!field->name) {
		field->name = text_duplicate(row->name, strlen(row->name));
		field->type = types[row->type];
		field->number = row->type != TYPE_TEXT;
	}
	return field->name != NULL;
}

static void add_derived(struct field_samples *samples, const struct recording *recording,
			const struct etw_record *record, const struct etw_event_class *class)
{
	const struct derived_field *row;

	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		struct sampled_field *field = &samples->derived[i];
		struct etw_text value = { 0 };

		if (row->of_record || field->sample_count == SAMPLES_MOST ||
		    !derived_applies(row, class) ||
		    !recording_derived(recording, row, record, class, &value)) {
			continue;
		}
		if (enter_derived(field, row)) {
			take_sample(field, &value);
		} else {
			samples->failed = true;
			text_free(&value);
		}
	}
}

void field_samples_add(struct field_samples *samples, const struct recording *recording,
		       const struct etw_record *record, const struct etw_event_class *class)
{
	const struct etw_schema *schema = class->schema;
	struct etw_event_fields fields;

	if (samples->events == SAMPLES_EVENTS) {
		return;
	}
	samples->events++;
	add_derived(samples, recording, record, class);
	if (schema) {
		etw_event_fields_locate(&fields, schema, record);
		add_fields(samples, &fields, 0, schema->field_count, true);
		etw_event_fields_done(&fields);
	}
}

static void sampled_field_done(struct sampled_field *field)
{
	free(field->name);
	for (size_t i = 0; i < field->sample_count; i++) {
		text_free(&field->samples[i]);
	}
}

void field_samples_done(struct field_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		sampled_field_done(&samples->fields[i]);
	}
	for (unsigned i = 0; i < DERIVED_MOST; i++) {
		sampled_field_done(&samples->derived[i]);
	}
	free(samples->fields);
	map_done(&samples->rows);
}
