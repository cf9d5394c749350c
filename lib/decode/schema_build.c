/* SPDX-License-Identifier: MIT */
/*
 * Builds the fields of a schema from data outside the program.
 *
 * The number of fields is not known in advance and names have any length, so the builder grows one
 * array of fields and one text with all names. The fields refer to their names by offsets, since
 * the text can move. At the end fields and names are copied into one block of memory, which is
 * freed with one call.
 *
 * A writer may give two fields of one structure the same name. Users that read values by name
 * (rules, JSON) would get only one of them, so the second "n" is renamed "n_2" here.
 */
#include "lib/decode/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
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

/* ---- equal names ---- */

struct naming {
	struct schema_builder *builder;
	uint64_t seed;                           /* of the hashes */
	uint64_t hashes[ETW_SCHEMA_FIELDS_MOST]; /* hash of each field's name */
	/* how many earlier members have the same name; of the first one, how many later ones */
	uint16_t ordinals[ETW_SCHEMA_FIELDS_MOST];
	/* The names of the members of one structure: a hash table of field indexes + 1; 0: free.
	 * It stays at most half full. */
	uint16_t slots[2 * ETW_SCHEMA_FIELDS_MOST];
	unsigned mask;
	unsigned spare; /* next number to try if a name with the usual number is taken */
};

static const char *name_at(const struct schema_builder *builder, unsigned index)
{
	return builder->names.data + builder->name_offsets[index];
}

/* Returns the slot of a name, which is free if no member has the name. */
static uint16_t *slot_of(struct naming *naming, uint64_t hash, const char *name)
{
	for (unsigned i = (unsigned)hash & naming->mask;; i = (i + 1) & naming->mask) {
		unsigned known = naming->slots[i];

		if (known == 0 || (naming->hashes[known - 1] == hash &&
				   strcmp(name_at(naming->builder, known - 1), name) == 0)) {
			return &naming->slots[i];
		}
	}
}

/* Appends "_number" to the name of a field. Returns false and changes nothing if another member has
 * that name. */
static bool append_number(struct naming *naming, unsigned index, unsigned number)
{
	struct schema_builder *builder = naming->builder;
	struct etw_text name = { 0 };
	bool is_free = true;

	text_add_string(&name, name_at(builder, index));
	text_add_format(&name, "_%u", number);
	if (!name.failed) {
		uint64_t hash = text_hash(name.data, name.size, naming->seed);
		uint16_t *slot = slot_of(naming, hash, name.data);

		is_free = *slot == 0;
		if (is_free) {
			*slot = (uint16_t)(index + 1);
			naming->hashes[index] = hash;
			builder->name_offsets[index] = (uint32_t)builder->names.size;
			text_add(&builder->names, name.data, name.size + 1);
		}
	}
	builder->failed |= name.failed || builder->names.failed;
	text_free(&name);
	return is_free;
}

/*
 * Makes the names of a structure's members (fields first … end - 1, without nested ones) unique.
 * The first of several members keeps its name. New names are given from the last member to the
 * first, when all original names are in the table.
 */
static void name_apart(struct naming *naming, unsigned first, unsigned end)
{
	struct schema_builder *builder = naming->builder;
	uint16_t members[ETW_SCHEMA_FIELDS_MOST];
	unsigned count = 0;

	for (unsigned i = first; i < end; i += 1U + builder->fields[i].span) {
		members[count++] = (uint16_t)i;
	}
	naming->mask = 1;
	while (naming->mask + 1 < 2 * count) {
		naming->mask = 2 * naming->mask + 1;
	}
	memset(naming->slots, 0, (naming->mask + 1) * sizeof naming->slots[0]);
	for (unsigned i = 0; i < count; i++) {
		unsigned index = members[i];
		uint16_t *slot = slot_of(naming, naming->hashes[index], name_at(builder, index));

		naming->ordinals[index] = 0;
		if (*slot == 0) {
			*slot = (uint16_t)(index + 1);
		} else {
			naming->ordinals[index] = ++naming->ordinals[*slot - 1];
		}
	}
	while (count-- > 1 && !builder->failed) {
		unsigned index = members[count];
		bool is_first = *slot_of(naming, naming->hashes[index], name_at(builder, index)) ==
				index + 1;

		if (!is_first && !append_number(naming, index, naming->ordinals[index] + 1U)) {
			while (!append_number(naming, index, naming->spare++)) {
			}
		}
	}
}

/* Returns whether two fields may have the same name, in one structure or in two. True can be wrong
 * (a bit set of hashes), false cannot. Also stores the hashes of all names. */
static bool may_repeat(struct naming *naming)
{
	const struct schema_builder *builder = naming->builder;
	uint64_t seen[64] = { 0 };
	bool repeats = false;

	for (unsigned i = 0; i < builder->count; i++) {
		const char *name = name_at(builder, i);
		uint64_t hash = text_hash(name, strlen(name), naming->seed);
		uint64_t bit = UINT64_C(1) << (hash & 63);

		naming->hashes[i] = hash;
		repeats |= (seen[hash >> 6 & 63] & bit) != 0;
		seen[hash >> 6 & 63] |= bit;
	}
	return repeats;
}

/* Call it after all structures are closed. */
static void name_fields_apart(struct schema_builder *builder)
{
	struct naming naming; /* an initialiser would clear all hashes, which takes time */

	naming.builder = builder;
	naming.seed = hash_seed();
	naming.spare = 2;
	if (!may_repeat(&naming)) {
		return;
	}
	name_apart(&naming, 0, (unsigned)builder->count);
	for (unsigned i = 0; i < builder->count; i++) {
		if (builder->fields[i].span > 1) {
			name_apart(&naming, i + 1, i + 1 + builder->fields[i].span);
		}
	}
}

bool schema_build_finish(struct schema_builder *builder, struct built_fields *fields)
{
	struct built_fields built = { .count = (uint16_t)builder->count };
	size_t size = builder->count * sizeof *built.fields;

	while (builder->depth > 0) {
		schema_build_close(builder);
	}
	if (!builder->failed && !builder->names.failed) {
		name_fields_apart(builder);
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
