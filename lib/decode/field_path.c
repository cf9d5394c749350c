/* SPDX-License-Identifier: MIT */
/*
 * Paths to values inside the fields of a schema.
 *
 * A path is resolved once for each event class and then located in each payload. Resolving is a
 * recursive search: at each level it tries every field whose name the rest of the text starts with,
 * since names may themselves contain dots and brackets, and goes back if the rest does not match.
 * The depth of structures and the length of the text bound the search.
 *
 * A path that enters an array becomes a list of steps, each with the index of the array and of the
 * element. In a payload, etw_fields_walk() first reaches the outermost array (path->top), and then
 * each step walks to its element. Elements of constant size need no walk.
 */

#include <string.h>

#include <etw/schema.h>

#include "base/text.h"
#include "lib/decode/schema.h"

/* The state of a search: the candidates are the fields first … end - 1. */
struct finder {
	const struct etw_schema *schema;
	struct etw_field_path *path;
	unsigned first, end;
	bool in_array; /* the path has entered an array, and path->top is final */
};

/* Reads a number in brackets at *at and moves *at past the closing bracket. */
static bool take_index(const char **at, uint32_t *index)
{
	const char *close = strchr(*at, ']');
	uint64_t number;

	if (!close || !parse_u64(*at + 1, (size_t)(close - *at) - 1, &number) ||
	    number >= UINT32_MAX) {
		return false;
	}
	*index = (uint32_t)number;
	*at = close + 1;
	return true;
}

static unsigned next_field(const struct finder *finder, unsigned index)
{
	return index + 1U + finder->schema->fields[index].span;
}

/* Returns the index of candidate number `place`, counted from 0; -1 if there are fewer. */
static int field_at(const struct finder *finder, uint32_t place)
{
	for (unsigned i = finder->first; i < finder->end; i = next_field(finder, i)) {
		if (place-- == 0) {
			return (int)i;
		}
	}
	return -1;
}

enum path_end { WHOLE, ELEMENT, ELEMENT_COUNT };

static bool finish(struct finder *finder, unsigned index, enum path_end type)
{
	struct etw_field_path *path = finder->path;

	path->field = (uint16_t)index;
	path->is_count = type == ELEMENT_COUNT;
	path->value = path->is_count ?
			      (struct etw_field){ .name = "count", .type = ETW_FIELD_U32 } :
			      finder->schema->fields[index];
	if (type != WHOLE) {
		path->value.count_type = ETW_FIELD_SCALAR;
		fields_place(&path->value, 1);
	}
	if (!finder->in_array) {
		path->top = (uint16_t)index;
	}
	return true;
}

static bool find_in(struct finder *finder, const char *rest);

static bool step(struct finder *finder, unsigned index, uint32_t element)
{
	struct etw_field_path *path = finder->path;

	if (path->step_count == sizeof path->steps / sizeof path->steps[0]) {
		return false;
	}
	path->steps[path->step_count].array = (uint16_t)index;
	path->steps[path->step_count].element = element;
	path->step_count++;
	if (!finder->in_array) {
		finder->in_array = true;
		path->top = (uint16_t)index;
	}
	return true;
}

/* Continues after the name of a field. */
static bool find_behind(struct finder *finder, unsigned index, const char *rest)
{
	const struct etw_field *field = &finder->schema->fields[index];
	bool array = field->count_type != ETW_FIELD_SCALAR && !etw_field_is_text_of_chars(field);
	struct finder inner = *finder;
	uint32_t element;

	if (*rest == '\0') {
		return field->type != ETW_FIELD_STRUCT && finish(finder, index, WHOLE);
	}
	if (array && strcmp(rest, ".count") == 0) {
		return finish(finder, index, ELEMENT_COUNT);
	}
	if (array) {
		if (*rest != '[' || !take_index(&rest, &element) || !step(finder, index, element)) {
			return false;
		}
		inner = *finder;
	}
	if (field->type != ETW_FIELD_STRUCT) {
		return array && *rest == '\0' && finish(finder, index, ELEMENT);
	}
	inner.first = index + 1;
	inner.end = index + 1U + field->span;
	return *rest == '.' && find_in(&inner, rest + 1);
}

/* The depth of structures and the length of the text bound this recursion. */
static bool find_in(struct finder *finder, const char *rest)
{
	const struct etw_field_path before = *finder->path;
	const char *at = rest;
	uint32_t place;
	int index;

	for (unsigned i = finder->first; i < finder->end; i = next_field(finder, i)) {
		const char *name = finder->schema->fields[i].name;
		size_t size = strlen(name);
		struct finder attempt = *finder;

		if (size > 0 && strncmp(rest, name, size) == 0 &&
		    find_behind(&attempt, i, rest + size)) {
			return true;
		}
		*finder->path = before;
	}
	index = *at == '[' && take_index(&at, &place) ? field_at(finder, place) : -1;
	return index >= 0 && find_behind(finder, (unsigned)index, at);
}

bool etw_field_path_find(const struct etw_schema *schema, const char *name,
			 struct etw_field_path *path)
{
	struct etw_field_path found = { 0 };
	struct finder finder = { .schema = schema, .path = &found, .end = schema->field_count };

	if (!find_in(&finder, name)) {
		return false;
	}
	*path = found;
	return true;
}

/* ---- in a payload ---- */

static enum etw_field_path_result find_element(const struct etw_field *field,
					       const struct etw_field *value,
					       const struct etw_field_slice *array,
					       uint32_t element, bool wide,
					       struct etw_field_slice *slice)
{
	uint32_t size = value->size[wide], offset = 0;

	if (element >= array->count) {
		return array->cut ? ETW_FIELD_PATH_CUT : ETW_FIELD_PATH_MISSING;
	}
	if (size != 0) {
		*slice = (struct etw_field_slice){ .at = array->at + (size_t)element * size,
						   .size = size,
						   .count = 1 };
		return ETW_FIELD_PATH_FOUND;
	}
	for (uint32_t i = 0; i <= element; i++) {
		if (!etw_field_next_element(field, array, &offset, slice)) {
			return ETW_FIELD_PATH_CUT;
		}
	}
	return ETW_FIELD_PATH_FOUND;
}

static enum etw_field_path_result enter_struct(const struct etw_schema *schema, unsigned array,
					       uint32_t element, const struct etw_record *record,
					       struct etw_field_slice *slices)
{
	uint32_t offset = 0;

	if (element >= slices[array].count) {
		return slices[array].cut ? ETW_FIELD_PATH_CUT : ETW_FIELD_PATH_MISSING;
	}
	for (uint32_t i = 0; i <= element; i++) {
		if (!etw_field_next_struct(schema, array, record, slices, &offset)) {
			return ETW_FIELD_PATH_CUT;
		}
	}
	return ETW_FIELD_PATH_FOUND;
}

enum etw_field_path_result etw_field_path_locate(const struct etw_schema *schema,
						 const struct etw_field_path *path,
						 const struct etw_record *record,
						 struct etw_field_slice *slices,
						 struct etw_field_slice *slice, uint32_t *count)
{
	for (unsigned i = 0; i < path->step_count; i++) {
		unsigned array = path->steps[i].array;
		uint32_t element = path->steps[i].element;
		enum etw_field_path_result entered;

		if (!slices[array].at) {
			return ETW_FIELD_PATH_CUT;
		}
		if (schema->fields[array].type != ETW_FIELD_STRUCT) {
			return find_element(&schema->fields[array], &path->value, &slices[array],
					    element, record->pointer_size == 8, slice);
		}
		entered = enter_struct(schema, array, element, record, slices);
		if (entered != ETW_FIELD_PATH_FOUND) {
			return entered;
		}
	}
	*slice = slices[path->field];
	*count = slice->count;
	return slice->at && !slice->cut ? ETW_FIELD_PATH_FOUND : ETW_FIELD_PATH_CUT;
}
