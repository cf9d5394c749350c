/* SPDX-License-Identifier: MIT */
#include "tool/field_samples.h"

#include <stdlib.h>
#include <string.h>

#include "tool/event_fields.h"
#include "tool/field_names.h"

static bool same_text(const struct text *a, const struct text *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* The place of a field with this name and type; count when there is none. */
static size_t find_field(const struct field_samples *samples, const struct text *name,
			 const struct text *type)
{
	size_t i = 0;

	while (i < samples->count && !(same_text(&samples->fields[i].name, name) &&
				       same_text(&samples->fields[i].type, type))) {
		i++;
	}
	return i;
}

/* Takes over name and type. False without room. */
static bool append(struct field_samples *samples, const struct field *field, struct text *name,
		   struct text *type)
{
	if (samples->count == samples->capacity) {
		size_t capacity = samples->capacity ? samples->capacity * 2 : 32;
		struct sampled_field *grown =
			capacity <= SAMPLES_FIELDS_MOST ?
				realloc(samples->fields, capacity * sizeof *grown) :
				NULL;

		if (!grown) {
			return false;
		}
		samples->fields = grown;
		samples->capacity = capacity;
	}
	samples->fields[samples->count++] = (struct sampled_field){
		.name = *name,
		.type = *type,
		.number = field_is_integer(field),
		.list = field->count_type != FIELD_SCALAR && !field_is_text_of_chars(field),
		.structures = field->type == FIELD_STRUCT,
	};
	*name = (struct text){ 0 };
	*type = (struct text){ 0 };
	return true;
}

/* The row of a field, made when new; NULL without room. */
static struct sampled_field *row_of(struct field_samples *samples, const struct schema *schema,
				    unsigned index)
{
	uint64_t *place = map_put(&samples->rows, (uintptr_t)&schema->fields[index], NULL);
	struct text name = { 0 }, type = { 0 };

	if (place && *place == 0) {
		field_name_add(schema, index, &name);
		field_type_add(&schema->fields[index], &type);
		*place = find_field(samples, &name, &type) + 1;
		if (*place > samples->count &&
		    !append(samples, &schema->fields[index], &name, &type)) {
			*place = 0;
		}
		samples->failed |= name.failed || type.failed;
		text_free(&name);
		text_free(&type);
	}
	if (!place || *place == 0) {
		samples->failed = true;
		return NULL;
	}
	return &samples->fields[*place - 1];
}

static void add_sample(struct sampled_field *row, const struct field *field,
		       const struct field_slice *slice)
{
	struct text value = { 0 };

	field_text(field, slice, &value);
	for (size_t i = 0; i < row->sample_count; i++) {
		if (same_text(&row->samples[i], &value)) {
			text_free(&value);
			return;
		}
	}
	if (value.failed || value.size == 0 || value.size > SAMPLE_SIZE_MOST) {
		text_free(&value);
		return;
	}
	row->samples[row->sample_count++] = value;
}

/*
 * Fields first … end - 1; of arrays of structures the first element. has_values: they are located.
 */
static void add_fields(struct field_samples *samples, struct event_fields *fields, unsigned first,
		       unsigned end, bool has_values)
{
	const struct schema *schema = fields->schema;
	unsigned i = first;

	while (i < end) {
		const struct field *field = &schema->fields[i];
		struct sampled_field *row;
		uint32_t offset = 0;

		has_values = has_values && (first > 0 || i < fields->end);
		if (field->type == FIELD_STRUCT && !field_is_struct_array(field)) {
			i++;
			continue;
		}
		row = row_of(samples, schema, i);
		if (field_is_struct_array(field)) {
			bool element = has_values && field_next_struct(schema, i, fields->record,
								       fields->slices, &offset);

			add_fields(samples, fields, i + 1, i + 1U + field->span, element);
		} else if (row && has_values && row->sample_count < SAMPLES_MOST &&
			   fields->slices[i].at) {
			add_sample(row, field, &fields->slices[i]);
		}
		i = field_behind(schema, i);
	}
}

void field_samples_add(struct field_samples *samples, const struct schema *schema,
		       const struct event_record *record)
{
	struct event_fields fields;

	if (samples->events == SAMPLES_EVENTS) {
		return;
	}
	samples->events++;
	event_fields_locate(&fields, schema, record);
	add_fields(samples, &fields, 0, schema->field_count, true);
	event_fields_done(&fields);
}

void field_samples_done(struct field_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		text_free(&samples->fields[i].name);
		text_free(&samples->fields[i].type);
		for (size_t j = 0; j < samples->fields[i].sample_count; j++) {
			text_free(&samples->fields[i].samples[j]);
		}
	}
	free(samples->fields);
	map_done(&samples->rows);
}
