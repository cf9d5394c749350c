/* SPDX-License-Identifier: MIT */
/*
 * Where the fields of a payload are.
 *
 * A payload is packed: each field starts where the field before it ends. All fields before the
 * first string or counted array therefore have constant offsets. fields_place() computes these
 * once for each schema and for both pointer sizes, and field_locate() needs nothing else for such
 * fields. The walk in this file finds the others: it starts at the first field of variable size
 * and steps over each field.
 *
 * The walk fills one slice for each field. A slice says where the bytes of the field are, how many
 * elements it has, and whether the payload ended inside it ("cut"). Most take_…() functions fill
 * one slice and return the number of bytes to step over.
 *
 * Schemas and payloads come from recordings, so both can be hostile. A count or a length can be the
 * value of another field; fields_place() only accepts an integer field before it that the walk has
 * always found by then. All sizes are compared with the rest of the payload before they are
 * multiplied. Arrays of structures can be nested, which could make one walk very long: VISITS_MOST
 * bounds it.
 *
 * The members of an array of structures exist once for each element. Their slices are those of the
 * element that was visited last, and field_next_struct() walks the elements again one by one.
 */
#include "lib/decode/schema.h"

#include <string.h>

#include "lib/decode/text_forms.h"

enum {
	/*
	 * The limit of fields visited inside arrays of structures, in one walk. A normal payload
	 * has at most one for each byte, and a few of size 0. A hostile schema could have a
	 * thousand times as many.
	 */
	VISITS_MOST = 1 << 18,
	NOT_WHOLE = UINT32_MAX,
};

bool field_has_length(const struct field *field)
{
	return field->type == FIELD_WSTRING || field->type == FIELD_ASTRING ||
	       field->type == FIELD_BINARY;
}

uint32_t field_unit_size(const struct field *field)
{
	switch (field->type) {
	case FIELD_WCHAR:
	case FIELD_WSTRING:
	case FIELD_WCOUNTED:
	case FIELD_WCOUNTED_BE:
		return 2;
	default:
		return 1;
	}
}

uint32_t field_element_size(const struct field *field, unsigned wide)
{
	static const uint8_t sizes[FIELD_STRUCT + 1] = {
		[FIELD_I8] = 1,          [FIELD_U8] = 1,     [FIELD_BOOL8] = 1,  [FIELD_ACHAR] = 1,
		[FIELD_I16] = 2,         [FIELD_U16] = 2,    [FIELD_BOOL16] = 2, [FIELD_PORT] = 2,
		[FIELD_WCHAR] = 2,       [FIELD_I32] = 4,    [FIELD_U32] = 4,    [FIELD_BOOL32] = 4,
		[FIELD_FLOAT] = 4,       [FIELD_IP4] = 4,    [FIELD_I64] = 8,    [FIELD_U64] = 8,
		[FIELD_FILETIME] = 8,    [FIELD_DOUBLE] = 8, [FIELD_IP6] = 16,   [FIELD_GUID] = 16,
		[FIELD_SYSTEMTIME] = 16,
	};

	if (field->type == FIELD_POINTER || field->type == FIELD_SIZE) {
		return wide ? 8 : 4;
	}
	if (field_has_length(field) && field->length_type == FIELD_LENGTH_FIXED) {
		return field_unit_size(field) * field->length;
	}
	return field->type <= FIELD_STRUCT ? sizes[field->type] : 0;
}

/* Whether a field has the same size in every payload. */
static bool is_constant(const struct field *field)
{
	if (field->count_type != FIELD_SCALAR && field->count_type != FIELD_COUNT_FIXED) {
		return false;
	}
	switch (field->type) {
	case FIELD_STRUCT:
		return field->count_type == FIELD_SCALAR;
	case FIELD_NULL:
		return true;
	case FIELD_WSTRING:
	case FIELD_ASTRING:
	case FIELD_BINARY:
		return field->length_type == FIELD_LENGTH_FIXED;
	default:
		return field_element_size(field, 0) != 0;
	}
}

/* The size of a constant field in bytes; FIELD_OFFSET_VARIES if it does not fit into uint16_t. */
static uint16_t constant_size(const struct field *field, unsigned wide)
{
	uint32_t size = field_element_size(field, wide);
	uint32_t count = field->count_type == FIELD_COUNT_FIXED ? field->count : 1;

	if (size != 0 && count > FIELD_OFFSET_VARIES / size) {
		return FIELD_OFFSET_VARIES;
	}
	return (uint16_t)(size * count);
}

/* Whether the count or length of field number `index` may be the value of field number `source`. */
static bool is_usable_reference(const struct field *fields, uint16_t source, uint16_t index)
{
	if (source >= index || !field_is_integer(&fields[source])) {
		return false;
	}
	for (uint16_t i = 0; i < source; i++) {
		/* A field in an array of structures may only be used inside the same element. */
		if (field_is_struct_array(&fields[i]) && source <= i + fields[i].span &&
		    index > i + fields[i].span) {
			return false;
		}
	}
	return true;
}

static void check_references(struct field *fields, uint16_t index)
{
	struct field *field = &fields[index];

	if (field->count_type == FIELD_COUNT_FIELD &&
	    !is_usable_reference(fields, field->count, index)) {
		field->count_type = FIELD_SCALAR;
	}
	if (!field_has_length(field)) {
		field->length_type = FIELD_LENGTH_TYPE;
	}
	if (field->length_type == FIELD_LENGTH_FIELD &&
	    !is_usable_reference(fields, field->length, index)) {
		field->length_type = FIELD_LENGTH_TYPE;
	}
}

uint16_t fields_place(struct field *fields, uint16_t count)
{
	uint32_t offset[2] = { 0, 0 };
	uint16_t first_variable = count;

	for (uint16_t i = 0; i < count; i++) {
		struct field *field = &fields[i];
		bool constant;

		check_references(fields, i);
		constant = is_constant(field);
		for (unsigned wide = 0; wide < 2; wide++) {
			uint16_t size = constant ? constant_size(field, wide) : 0;

			if (size == FIELD_OFFSET_VARIES) {
				constant = false;
				size = 0;
			}
			field->size[wide] = size;
			field->offset[wide] = FIELD_OFFSET_VARIES;
			if (first_variable == count && offset[wide] < FIELD_OFFSET_VARIES) {
				field->offset[wide] = (uint16_t)offset[wide];
				offset[wide] += size;
			}
		}
		if (first_variable == count &&
		    (!constant || field->offset[1] == FIELD_OFFSET_VARIES)) {
			first_variable = i;
		}
	}
	return first_variable;
}

static int find_field(const struct field *fields, unsigned first, unsigned end, const char *name)
{
	for (unsigned i = first; i < end; i += 1U + fields[i].span) {
		const struct field *field = &fields[i];
		size_t length;
		int found;

		if (field->type != FIELD_STRUCT) {
			if (strcmp(field->name, name) == 0) {
				return (int)i;
			}
			continue;
		}
		length = strlen(field->name);
		if (field->count_type != FIELD_SCALAR || strncmp(field->name, name, length) != 0 ||
		    name[length] != '.') {
			continue;
		}
		found = find_field(fields, i + 1, i + 1 + field->span, name + length + 1);
		if (found >= 0) {
			return found;
		}
	}
	return -1;
}

unsigned schema_end_of_whole(const struct schema *schema, unsigned whole)
{
	unsigned end = 0;

	while (end < schema->field_count && field_behind(schema, end) <= whole) {
		end = field_behind(schema, end);
	}
	return end;
}

int schema_find_field(const struct schema *schema, const char *name)
{
	return find_field(schema->fields, 0, schema->field_count, name);
}

/* ---- one field ---- */

/* The size of the string at `at`, with its terminator. Without a terminator it ends at the end. */
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

uint32_t field_prefix_size(unsigned type)
{
	switch (type) {
	case FIELD_WCOUNTED:
	case FIELD_ACOUNTED:
	case FIELD_BINARY16:
	case FIELD_WCOUNTED_BE:
	case FIELD_ACOUNTED_BE:
		return 2;
	case FIELD_BINARY32:
		return 4;
	default:
		return 0;
	}
}

/*
 * The size of one element that contains its own size or terminator, with its count; NOT_WHOLE if it
 * does not fit.
 */
static uint32_t own_size(unsigned type, const uint8_t *at, uint32_t left)
{
	uint32_t prefix = field_prefix_size(type);
	uint32_t size;

	if (type == FIELD_SID) {
		size = (uint32_t)sid_size(at, left);
		return size != 0 ? size : NOT_WHOLE;
	}
	if (prefix == 0) {
		return left > 0 ? string_size(type, at, left) : NOT_WHOLE;
	}
	if (left < prefix) {
		return NOT_WHOLE;
	}
	if (prefix == 4) {
		size = load_u32(at);
	} else if (type == FIELD_WCOUNTED_BE || type == FIELD_ACOUNTED_BE) {
		size = (uint32_t)at[0] << 8 | at[1];
	} else {
		size = load_u16(at);
	}
	return size <= left - prefix ? prefix + size : NOT_WHOLE;
}

/* Makes a cut slice of the rest of the payload, if there is a rest. Returns 0: no step. */
static uint32_t not_whole(const uint8_t *at, uint32_t left, struct field_slice *slice)
{
	if (left > 0) {
		*slice = (struct field_slice){ .at = at, .size = left, .cut = true };
	}
	return 0;
}

/* A run of `count` elements of the same size. Returns the bytes to step over. */
static uint32_t take_fixed(const uint8_t *at, uint32_t left, uint32_t size, uint32_t count,
			   bool array, struct field_slice *slice)
{
	uint32_t fits = size != 0 ? left / size : UINT32_MAX;

	if (count <= fits) {
		*slice = (struct field_slice){ .at = at, .size = count * size, .count = count };
	} else if (left > 0) {
		*slice = (struct field_slice){
			.at = at, .size = array ? fits * size : left, .count = fits, .cut = true
		};
	}
	return slice->size;
}

/*
 * A run of `count` elements that contain their own sizes (UINT32_MAX: up to the end of the
 * payload). Returns the bytes to step over.
 */
static uint32_t take_own(unsigned type, const uint8_t *at, uint32_t left, uint32_t count,
			 struct field_slice *slice)
{
	struct field_slice taken = { .at = at };

	while (taken.count < count && taken.size < left) {
		uint32_t size = own_size(type, at + taken.size, left - taken.size);

		if (size == NOT_WHOLE) {
			taken.cut = true;
			break;
		}
		taken.size += size;
		taken.count++;
	}
	taken.cut |= taken.count < count && count != UINT32_MAX;
	if (!taken.cut || taken.count > 0 || left > 0) {
		*slice = taken;
	}
	return taken.size;
}

static uint32_t take_one_own(unsigned type, const uint8_t *at, uint32_t left,
			     struct field_slice *slice)
{
	uint32_t size = own_size(type, at, left);
	uint32_t prefix = field_prefix_size(type);

	if (size == NOT_WHOLE) {
		return left > prefix ? not_whole(at + prefix, left - prefix, slice) :
				       not_whole(at, left, slice);
	}
	*slice = (struct field_slice){ .at = at + prefix, .size = size - prefix, .count = 1 };
	return size;
}

static uint32_t take_kernel_sid(const uint8_t *at, uint32_t left, unsigned wide,
				struct field_slice *slice)
{
	const uint8_t *sid = NULL;
	uint32_t size = (uint32_t)kernel_sid_size(at, left, wide ? 8 : 4, &sid);

	if (size == 0) {
		return not_whole(at, left, slice);
	}
	if (sid) {
		*slice = (struct field_slice){ .at = sid,
					       .size = (uint32_t)(at + size - sid),
					       .count = 1 };
	} else {
		*slice = (struct field_slice){ .at = at, .count = 1 };
	}
	return size;
}

/* A walk over the fields of one payload. */
struct walk {
	const struct schema *schema;
	const struct event_record *record;
	struct field_slice *slices; /* by index of the field */
	unsigned first;             /* slices before it are not set; their offsets are constant */
	unsigned visits;            /* of fields inside arrays of structures */
};

/* The value of another field, for a count or a length. */
static uint32_t number_in(const struct walk *walk, unsigned source)
{
	struct field_slice slice;
	uint64_t number;

	if (source >= walk->first) {
		slice = walk->slices[source];
	} else if (!field_locate(walk->schema, source, walk->record, &slice)) {
		return 0;
	}
	number = field_u64(&walk->schema->fields[source], &slice);
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX - 1;
}

/* Sets the number of elements (UINT32_MAX: up to the end) and steps over a count in the payload. */
static bool take_count(const struct walk *walk, const struct field *field, const uint8_t **at,
		       uint32_t *left, uint32_t *count)
{
	switch ((enum field_count_type)field->count_type) {
	case FIELD_SCALAR:
		*count = 1;
		return true;
	case FIELD_COUNT_FIXED:
		*count = field->count;
		return true;
	case FIELD_COUNT_REST:
		*count = UINT32_MAX;
		return true;
	case FIELD_COUNT_FIELD:
		*count = number_in(walk, field->count);
		return true;
	case FIELD_COUNT_PREFIX:
		break;
	}
	if (*left < 2) {
		return false;
	}
	*count = load_u16(*at);
	*at += 2;
	*left -= 2;
	return true;
}

/* A payload that ends behind the count of an array ended inside the array. */
static void only_count(bool has_count, const uint8_t *at, struct field_slice *slice)
{
	if (has_count && !slice->at) {
		*slice = (struct field_slice){ .at = at, .cut = true };
	}
}

/* Strings and binary data, which end as `length_type` says or in the way of their type. */
static uint32_t take_with_length(const struct walk *walk, const struct field *field,
				 const uint8_t *at, uint32_t left, uint32_t count,
				 struct field_slice *slice)
{
	bool array = field->count_type != FIELD_SCALAR;
	uint32_t length;

	switch ((enum field_length_type)field->length_type) {
	case FIELD_LENGTH_FIELD:
		length = number_in(walk, field->length);
		if (length > left) {
			length = left + 1; /* too long in any case; avoids an overflow below */
		}
		length *= field_unit_size(field);
		if (count == UINT32_MAX) {
			count = length != 0 ? left / length : 0;
		}
		return take_fixed(at, left, length, count, array, slice);
	case FIELD_LENGTH_TYPE:
		if (field->type != FIELD_BINARY) {
			return array ? take_own(field->type, at, left, count, slice) :
				       take_one_own(field->type, at, left, slice);
		}
		break;
	case FIELD_LENGTH_REST:
	case FIELD_LENGTH_FIXED: /* not here: such fields have an element size */
		break;
	}
	/* One value up to the end of the payload. */
	*slice = (struct field_slice){ .at = at, .size = left, .count = 1 };
	if (left == 0) {
		*slice = (struct field_slice){ .at = NULL };
	}
	return left;
}

/*
 * Fills the slice of the field that starts at *offset, and moves *offset behind it. False if the
 * payload does not contain the whole field.
 */
static bool take(const struct walk *walk, const struct field *field, uint32_t *offset,
		 struct field_slice *slice)
{
	const uint8_t *start = walk->record->payload + *offset;
	const uint8_t *at = start;
	uint32_t left = walk->record->payload_size - *offset;
	unsigned wide = walk->record->pointer_size == 8;
	uint32_t size = field_element_size(field, wide);
	bool array = field->count_type != FIELD_SCALAR;
	uint32_t count;

	*slice = (struct field_slice){ .at = NULL };
	if (!take_count(walk, field, &at, &left, &count)) {
		not_whole(at, left, slice);
		return false;
	}
	if (size != 0) {
		if (count == UINT32_MAX) {
			count = left / size;
		}
		size = take_fixed(at, left, size, count, array, slice);
	} else if (field_has_length(field) && field->length_type != FIELD_LENGTH_FIXED) {
		size = take_with_length(walk, field, at, left, count, slice);
	} else if (field->type == FIELD_KERNEL_SID) {
		size = take_kernel_sid(at, left, wide, slice);
	} else if (field->type == FIELD_NULL || field_has_length(field)) {
		*slice = (struct field_slice){ .at = at, .count = count != UINT32_MAX ? count : 0 };
	} else if (array) {
		size = take_own(field->type, at, left, count, slice);
	} else {
		size = take_one_own(field->type, at, left, slice);
	}
	*offset += (uint32_t)(at - start) + size;
	only_count(at != start, at, slice);
	return slice->at && !slice->cut;
}

/* ---- all fields ---- */

static unsigned walk_fields(struct walk *walk, unsigned first, unsigned end, uint32_t *offset);

/* Whether a field is in an array of structures that is at index `first` or later. */
static bool is_in_array(const struct schema *schema, unsigned first, unsigned index)
{
	for (unsigned i = first; i < index; i++) {
		if (field_is_struct_array(&schema->fields[i]) &&
		    index <= i + schema->fields[i].span) {
			return true;
		}
	}
	return false;
}

/* A payload may end before a text that is its last field, which is then empty ("TDH_INTYPE_…" in
 * tdh.h: the last one may lack its terminator). The
 * layouts of the kernel are no exact ones: a version may have got such a field later. */
static bool take_left_out(struct walk *walk, unsigned index, uint32_t offset)
{
	const struct event_record *record = walk->record;
	const struct field *field = &walk->schema->fields[index];

	if (walk->schema->origin == SCHEMA_KERNEL || index + 1U != walk->schema->field_count ||
	    offset != record->payload_size || field->count_type != FIELD_SCALAR ||
	    (field->type != FIELD_WSTRING && field->type != FIELD_ASTRING) ||
	    (field->length_type != FIELD_LENGTH_TYPE && field->length_type != FIELD_LENGTH_REST) ||
	    is_in_array(walk->schema, 0, index)) {
		return false;
	}
	walk->slices[index] = (struct field_slice){ .at = record->payload + offset, .count = 1 };
	return true;
}

/* Walks one element of an array of structures; false if it is not whole. */
static bool walk_struct(struct walk *walk, unsigned index, uint32_t *offset)
{
	unsigned end = index + 1 + walk->schema->fields[index].span;

	if (walk->visits > VISITS_MOST) {
		return false;
	}
	walk->visits += end - index;
	return walk_fields(walk, index + 1, end, offset) == end;
}

static bool take_structs(struct walk *walk, unsigned index, uint32_t *offset)
{
	const struct field *field = &walk->schema->fields[index];
	struct field_slice *slice = &walk->slices[index];
	const uint8_t *start = walk->record->payload + *offset;
	const uint8_t *at = start;
	uint32_t left = walk->record->payload_size - *offset;
	struct field_slice taken;
	uint32_t count;

	*slice = (struct field_slice){ .at = NULL };
	if (!take_count(walk, field, &at, &left, &count)) {
		not_whole(at, left, slice);
		return false;
	}
	*offset += (uint32_t)(at - start);
	taken = (struct field_slice){ .at = at };
	while (taken.count < count && (taken.size < left || count != UINT32_MAX)) {
		uint32_t next = *offset;

		if (!walk_struct(walk, index, &next)) {
			taken.cut = true;
			break;
		}
		if (next == *offset) {
			taken.count = count != UINT32_MAX ? count : 0; /* all elements are empty */
			break;
		}
		taken.size += next - *offset;
		taken.count++;
		*offset = next;
	}
	if (!taken.cut || left > 0) {
		*slice = taken;
	}
	only_count(at != start, at, slice);
	return slice->at && !slice->cut;
}

/* A single integer of constant size, as most fields are. */
static bool is_plain(const struct field *field, unsigned wide)
{
	return field_is_integer(field) && field->size[wide] != 0;
}

/*
 * Finds fields first … end - 1; the first one starts at *offset. Returns the index of the first
 * field that is not whole and leaves *offset behind the last whole one.
 */
static unsigned walk_fields(struct walk *walk, unsigned first, unsigned end, uint32_t *offset)
{
	const struct event_record *record = walk->record;
	const unsigned wide = record->pointer_size == 8;
	unsigned i = first;

	while (i < end) {
		const struct field *field = &walk->schema->fields[i];

		if (is_plain(field, wide) && record->payload_size - *offset >= field->size[wide]) {
			walk->slices[i] = (struct field_slice){ .at = record->payload + *offset,
								.size = field->size[wide],
								.count = 1 };
			*offset += field->size[wide];
			i++;
		} else if (field->type != FIELD_STRUCT) {
			if (!take(walk, field, offset, &walk->slices[i]) &&
			    !take_left_out(walk, i, *offset)) {
				return i;
			}
			i++;
		} else if (field->count_type == FIELD_SCALAR) {
			walk->slices[i] =
				(struct field_slice){ .at = walk->record->payload + *offset,
						      .count = 1 };
			i++;
		} else {
			if (!take_structs(walk, i, offset)) {
				return i;
			}
			i += 1U + field->span;
		}
	}
	return i;
}

bool field_locate_by_walk(const struct schema *schema, unsigned index,
			  const struct event_record *record, struct field_slice *slice)
{
	struct field_slice slices[SCHEMA_FIELDS_MOST];
	unsigned wide = record->pointer_size == 8;
	unsigned first = schema->first_variable < index ? schema->first_variable : index;
	struct walk walk = { .schema = schema, .record = record, .slices = slices, .first = first };
	uint32_t offset = schema->fields[first].offset[wide];

	*slice = (struct field_slice){ .at = NULL };
	if (offset > record->payload_size || schema->field_count > SCHEMA_FIELDS_MOST ||
	    is_in_array(schema, first, index)) {
		return false;
	}
	if (walk_fields(&walk, first, index + 1, &offset) >= index) {
		*slice = slices[index];
	}
	return slice->at && !slice->cut;
}

unsigned fields_walk(const struct schema *schema, unsigned last, const struct event_record *record,
		     struct field_slice *slices, uint32_t *rest)
{
	struct walk walk = { .schema = schema, .record = record, .slices = slices };
	uint32_t offset = 0;
	unsigned whole = walk_fields(&walk, 0, last + 1, &offset);

	for (unsigned i = whole + 1; i <= last; i++) {
		slices[i] = (struct field_slice){ .at = NULL };
	}
	if (rest) {
		*rest = whole > last ? record->payload_size - offset : 0;
	}
	return whole;
}

bool field_next_struct(const struct schema *schema, unsigned index,
		       const struct event_record *record, struct field_slice *slices,
		       uint32_t *offset)
{
	const struct field_slice *array = &slices[index];
	struct walk walk = { .schema = schema, .record = record, .slices = slices };
	uint32_t start, next;

	if (!array->at || *offset >= array->size) {
		return false;
	}
	start = (uint32_t)(array->at - record->payload);
	next = start + *offset;
	if (!walk_struct(&walk, index, &next) || next == start + *offset) {
		return false;
	}
	*offset = next - start;
	return true;
}

bool field_next_element(const struct field *field, const struct field_slice *array,
			uint32_t *offset, struct field_slice *element)
{
	uint32_t size = array->size, prefix = 0;

	if (!array->at || *offset >= size || (array->cut && array->count == 0)) {
		return false;
	}
	if (field->count_type == FIELD_SCALAR || field_is_text_of_chars(field)) {
		size -= *offset;
	} else if (field_element_size(field, 0) != 0 ||
		   (field_has_length(field) && field->length_type != FIELD_LENGTH_TYPE) ||
		   field->type == FIELD_BINARY || field->type == FIELD_KERNEL_SID) {
		size /= array->count; /* all elements have the same size */
	} else if (field->type != FIELD_STRUCT) {
		prefix = field_prefix_size(field->type);
		size = own_size(field->type, array->at + *offset, size - *offset);
	} else {
		return false;
	}
	*element = (struct field_slice){ .at = array->at + *offset + prefix,
					 .size = size - prefix,
					 .count = 1 };
	*offset += size;
	return true;
}
