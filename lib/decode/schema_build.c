/* SPDX-License-Identifier: MIT */
/*
 * Builds the fields of a schema from data outside the program.
 *
 * The number of fields is not known before, and names are of any length, so the builder grows one
 * array of fields and one text with all names. The fields refer to their names by offsets, since
 * the text can move. At the end fields and names are copied into one block of memory, which is
 * freed with one call.
 */
#include "lib/decode/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

enum { NAMES_SIZE_MOST = 1 << 18 };

static bool grow(struct schema_builder *builder)
{
	struct etw_field *fields =
		array_grow(builder->fields, &builder->capacity, builder->count, sizeof *fields);
	uint32_t *offsets;

	if (!fields) {
		return false;
	}
	builder->fields = fields;
	offsets = array_grow(builder->name_offsets, &builder->offset_capacity, builder->count,
			     sizeof *offsets);
	if (!offsets) {
		return false;
	}
	builder->name_offsets = offsets;
	return true;
}

int schema_build_add(struct schema_builder *builder, const struct etw_field *field,
		     const char *name, size_t name_size)
{
	const char *nul = name_size > 0 ? memchr(name, 0, name_size) : NULL;
	size_t index = builder->count;

	if (builder->stopped || builder->failed) {
		return -1;
	}
	if (index == ETW_SCHEMA_FIELDS_MOST || builder->names.size > NAMES_SIZE_MOST ||
	    (field->type == ETW_FIELD_STRUCT && builder->depth == ETW_SCHEMA_DEPTH_MOST)) {
		schema_build_stop(builder);
		return -1;
	}
	if (!grow(builder)) {
		builder->failed = true;
		return -1;
	}
	builder->fields[index] = *field;
	builder->fields[index].span = 0;
	builder->name_offsets[index] = (uint32_t)builder->names.size;
	text_add_utf8_clean(&builder->names, name, nul ? (size_t)(nul - name) : name_size);
	text_add_char(&builder->names, '\0');
	builder->count++;
	if (field->type == ETW_FIELD_STRUCT) {
		builder->open[builder->depth++] = (uint16_t)index;
	}
	return (int)index;
}

void schema_build_close(struct schema_builder *builder)
{
	if (builder->depth > 0) {
		uint16_t index = builder->open[--builder->depth];

		builder->fields[index].span = (uint16_t)(builder->count - index - 1);
	}
}

int schema_build_find(const struct schema_builder *builder, const char *name)
{
	if (builder->names.failed) {
		return -1;
	}
	for (size_t i = builder->count; i > 0; i--) {
		if (strcmp(builder->names.data + builder->name_offsets[i - 1], name) == 0) {
			return (int)(i - 1);
		}
	}
	return -1;
}

void schema_build_stop(struct schema_builder *builder)
{
	builder->stopped = true;
	for (unsigned i = 0; i < builder->depth; i++) {
		if (etw_field_is_struct_array(&builder->fields[builder->open[i]])) {
			builder->count = builder->open[i];
			builder->depth = i;
		}
	}
	while (builder->depth > 0) {
		schema_build_close(builder);
	}
}

bool schema_build_finish(struct schema_builder *builder, struct built_fields *fields)
{
	struct built_fields built = { .count = (uint16_t)builder->count };
	size_t size = builder->count * sizeof *built.fields;

	while (builder->depth > 0) {
		schema_build_close(builder);
	}
	if (builder->failed || builder->names.failed) {
		schema_build_done(builder);
		return false;
	}
	if (built.count > 0) {
		char *names;

		built.bytes = size + builder->names.size;
		built.fields = malloc(built.bytes);
		if (!built.fields) {
			memory_note_loss();
			schema_build_done(builder);
			return false;
		}
		memcpy(built.fields, builder->fields, size);
		names = (char *)built.fields + size;
		memcpy(names, builder->names.data, builder->names.size);
		for (size_t i = 0; i < builder->count; i++) {
			built.fields[i].name = names + builder->name_offsets[i];
		}
		built.first_variable = fields_place(built.fields, built.count);
	}
	schema_build_done(builder);
	*fields = built;
	return true;
}

void schema_build_done(struct schema_builder *builder)
{
	free(builder->fields);
	free(builder->name_offsets);
	text_free(&builder->names);
	*builder = (struct schema_builder){ .count = 0 };
}
