/* SPDX-License-Identifier: MIT */
/*
 * Where the fields of a payload are.
 *
 * Payloads are packed: a field starts where the one before it ends. So everything in front of the
 * first string or counted array has constant offsets, and field_locate() needs no more; this file
 * is for what lies behind.
 */
#include "decode/schema.h"

#include <string.h>

#include "decode/sid.h"
#include "decode/utf16.h"

/* Bytes of one element; 0: varies. */
static uint32_t element_size(unsigned type, unsigned wide)
{
	switch (type) {
	case FIELD_I8:
	case FIELD_U8:
	case FIELD_BINARY:
		return 1;
	case FIELD_I16:
	case FIELD_U16:
	case FIELD_PORT:
	case FIELD_WCHARS:
		return 2;
	case FIELD_I32:
	case FIELD_U32:
	case FIELD_BOOL32:
	case FIELD_IP4:
		return 4;
	case FIELD_I64:
	case FIELD_U64:
		return 8;
	case FIELD_POINTER:
	case FIELD_SIZE:
		return wide ? 8 : 4;
	case FIELD_IP6:
	case FIELD_GUID:
		return 16;
	default:
		return 0;
	}
}

static uint16_t fixed_size(const struct field *field, unsigned wide)
{
	uint32_t size = element_size(field->type, wide);

	if (field->count_kind == FIELD_COUNT_FIXED) {
		size *= field->count;
	} else if (field->count_kind != FIELD_SCALAR) {
		size = 0;
	}
	return size < FIELD_OFFSET_VARIES ? (uint16_t)size : 0;
}

uint16_t fields_place(struct field *fields, uint16_t count)
{
	uint32_t offset[2] = { 0, 0 };
	uint16_t first_variable = count;

	for (uint16_t i = 0; i < count; i++) {
		struct field *field = &fields[i];

		if (field->count_kind == FIELD_COUNT_FIELD &&
		    (field->count >= i || !field_is_integer(&fields[field->count]))) {
			field->count_kind = FIELD_SCALAR;
		}
		for (unsigned wide = 0; wide < 2; wide++) {
			field->size[wide] = fixed_size(field, wide);
			field->offset[wide] = FIELD_OFFSET_VARIES;
			if (first_variable == count && offset[wide] < FIELD_OFFSET_VARIES) {
				field->offset[wide] = (uint16_t)offset[wide];
				offset[wide] += field->size[wide];
			}
		}
		if (first_variable == count &&
		    (field->size[0] == 0 || field->offset[1] == FIELD_OFFSET_VARIES)) {
			first_variable = i;
		}
	}
	return first_variable;
}

int schema_find_field(const struct schema *schema, const char *name)
{
	for (unsigned i = 0; i < schema->field_count; i++) {
		if (strcmp(schema->fields[i].name, name) == 0) {
			return (int)i;
		}
	}
	return -1;
}

/* Bytes of the string at `at`, terminator included. What has no terminator runs to the end. */
static uint32_t string_size(unsigned type, const uint8_t *at, uint32_t left)
{
	if (type == FIELD_WSTRING) {
		uint32_t length = 2 * (uint32_t)utf16_length(at, left / 2);

		return left - length >= 2 ? length + 2 : left;
	} else {
		const uint8_t *nul = memchr(at, 0, left);

		return nul ? (uint32_t)(nul - at) + 1 : left;
	}
}

/* A run of `count` elements of the same size. Returns the bytes to step over. */
static uint32_t take_fixed(const uint8_t *at, uint32_t left, uint32_t size, uint32_t count,
			   bool array, struct field_slice *slice)
{
	uint32_t fits = left / size;

	if (count <= fits) {
		*slice = (struct field_slice){ .at = at, .size = count * size, .count = count };
	} else if (left > 0) {
		*slice = (struct field_slice){
			.at = at, .size = array ? fits * size : left, .count = fits, .cut = true
		};
	}
	return slice->size;
}

/* A run of `count` strings (UINT32_MAX: as many as there are). Returns the bytes to step over. */
static uint32_t take_strings(unsigned type, const uint8_t *at, uint32_t left, uint32_t count,
			     struct field_slice *slice)
{
	struct field_slice taken = { .at = at };

	while (taken.count < count && taken.size < left) {
		taken.size += string_size(type, at + taken.size, left - taken.size);
		taken.count++;
	}
	taken.cut = taken.count < count && count != UINT32_MAX;
	if (!taken.cut || taken.count > 0) {
		*slice = taken;
	}
	return taken.size;
}

static uint32_t take_kernel_sid(const uint8_t *at, uint32_t left, unsigned wide,
				struct field_slice *slice)
{
	const uint8_t *sid = NULL;
	uint32_t size = (uint32_t)kernel_sid_size(at, left, wide ? 8 : 4, &sid);

	if (size == 0) {
		if (left > 0) {
			*slice = (struct field_slice){ .at = at, .size = left, .cut = true };
		}
	} else if (sid) {
		*slice = (struct field_slice){ .at = sid,
					       .size = (uint32_t)(at + size - sid),
					       .count = 1 };
	} else {
		*slice = (struct field_slice){ .at = at, .count = 1 };
	}
	return size;
}

/*
 * Fills the slice of the field that starts at `at`. count: of a field with FIELD_COUNT_FIELD.
 * Returns the bytes to step over; whole fields only.
 */
static uint32_t take(const struct field *field, const uint8_t *at, uint32_t left, unsigned wide,
		     uint32_t count, struct field_slice *slice)
{
	uint32_t size = element_size(field->type, wide);
	bool array = field->count_kind != FIELD_SCALAR;

	*slice = (struct field_slice){ .at = NULL };
	switch (field->count_kind) {
	case FIELD_SCALAR:
		count = 1;
		break;
	case FIELD_COUNT_FIXED:
		count = field->count;
		break;
	case FIELD_COUNT_REST:
		count = size != 0 ? left / size : UINT32_MAX;
		break;
	default:
		break;
	}
	if (field->type == FIELD_KERNEL_SID) {
		return take_kernel_sid(at, left, wide, slice);
	}
	if (size == 0) {
		return take_strings(field->type, at, left, count, slice);
	}
	return take_fixed(at, left, size, count, array, slice);
}

static bool is_whole(const struct field_slice *slice)
{
	return slice->at && !slice->cut;
}

/* The number of elements that another field tells; slices: of the fields from `first` on. */
static uint32_t told_count(const struct schema *schema, const struct field *field, unsigned first,
			   const struct event_record *record, const struct field_slice *slices)
{
	const struct field *counter = &schema->fields[field->count];
	struct field_slice slice;
	uint64_t count;

	if (field->count_kind != FIELD_COUNT_FIELD) {
		return 0;
	}
	if (field->count >= first) {
		slice = slices[field->count - first];
	} else if (!field_locate(schema, field->count, record, &slice)) {
		return 0;
	}
	count = field_u64(counter, &slice);
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX - 1;
}

/*
 * Finds fields first … last, the first of which starts at *offset; slices are theirs. Returns how
 * many are whole and leaves *offset behind the last of these.
 */
static unsigned walk(const struct schema *schema, unsigned first, unsigned last,
		     const struct event_record *record, struct field_slice *slices,
		     uint32_t *offset)
{
	unsigned wide = record->pointer_size == 8;

	for (unsigned i = first; i <= last; i++) {
		const struct field *field = &schema->fields[i];
		struct field_slice *slice = &slices[i - first];
		uint32_t count = told_count(schema, field, first, record, slices);
		uint32_t size = take(field, record->payload + *offset,
				     record->payload_size - *offset, wide, count, slice);

		if (!is_whole(slice)) {
			return i - first;
		}
		*offset += size;
	}
	return last - first + 1;
}

bool field_locate_by_walk(const struct schema *schema, unsigned index,
			  const struct event_record *record, struct field_slice *slice)
{
	struct field_slice slices[SCHEMA_FIELDS_MOST];
	unsigned wide = record->pointer_size == 8;
	unsigned first = schema->first_variable < index ? schema->first_variable : index;
	uint32_t offset = schema->fields[first].offset[wide];

	*slice = (struct field_slice){ .at = NULL };
	if (offset > record->payload_size || index - first >= SCHEMA_FIELDS_MOST) {
		return false;
	}
	if (walk(schema, first, index, record, slices, &offset) >= index - first) {
		*slice = slices[index - first];
	}
	return is_whole(slice);
}

unsigned fields_walk(const struct schema *schema, unsigned last, const struct event_record *record,
		     struct field_slice *slices, uint32_t *rest)
{
	uint32_t offset = 0;
	unsigned whole = walk(schema, 0, last, record, slices, &offset);

	for (unsigned i = whole + 1; i <= last; i++) {
		slices[i] = (struct field_slice){ .at = NULL };
	}
	if (rest) {
		*rest = whole > last ? record->payload_size - offset : 0;
	}
	return whole;
}

bool field_next_element(const struct field *field, const struct field_slice *array,
			uint32_t *offset, struct field_slice *element)
{
	uint32_t size = array->size;

	if (!array->at || *offset >= size || (array->cut && array->count == 0)) {
		return false;
	}
	if (field->count_kind == FIELD_SCALAR || field->type == FIELD_WCHARS ||
	    field->type == FIELD_BINARY) {
		size -= *offset;
	} else if (element_size(field->type, 0) == 0) {
		size = string_size(field->type, array->at + *offset, size - *offset);
	} else {
		size /= array->count;
	}
	*element = (struct field_slice){ .at = array->at + *offset, .size = size, .count = 1 };
	*offset += size;
	return true;
}
