/* SPDX-License-Identifier: MIT */
/*
 * Locates the fields of a payload.
 *
 * A payload is packed: each field starts where the field before it ends. All fields before the
 * first string or counted array therefore have constant offsets. fields_place() computes these
 * once for each schema and for both pointer sizes, and etw_field_locate() needs nothing else for
 * such fields. The walk in this file finds the others: it starts at the first field of variable
 * size and steps over each field.
 *
 * The walk fills one slice for each field. A slice says where the bytes of the field are, how many
 * elements it has, and whether the payload ended inside it ("cut"). Most take_…() functions fill
 * one slice and return the number of bytes to step over.
 *
 * Schemas and payloads come from recordings, so both can be hostile. A count or a length can be the
 * value of another field; fields_place() only accepts an earlier integer field, which the walk has
 * always found by then. All sizes are compared with the rest of the payload before they are
 * multiplied. Arrays of structures can be nested, which could make one walk very long: VISITS_MOST
 * bounds it.
 *
 * The members of an array of structures exist once for each element. Their slices are those of the
 * element that was visited last, and etw_field_next_struct() walks the elements again one by one.
 */
#include "lib/decode/schema.h"

#include <string.h>

enum {
	/*
	 * Limit of the fields that one walk visits inside arrays of structures. A normal payload
	 * has at most one for each byte, and a few of size 0. A hostile schema could have a
	 * thousand times as many.
	 */
	VISITS_MOST = 1 << 18,
	NOT_WHOLE = UINT32_MAX,
};

bool field_has_length(const struct etw_field *field)
{
	return field->type == ETW_FIELD_WSTRING || field->type == ETW_FIELD_ASTRING ||
	       field->type == ETW_FIELD_BINARY;
}

uint32_t etw_field_unit_size(const struct etw_field *field)
{
	switch (field->type) {
	case ETW_FIELD_WCHAR:
	case ETW_FIELD_WSTRING:
	case ETW_FIELD_WCOUNTED:
	case ETW_FIELD_WCOUNTED_BE:
		return 2;
	default:
		return 1;
	}
}

uint32_t field_element_size(const struct etw_field *field, unsigned wide)
{
	static const uint8_t sizes[ETW_FIELD_STRUCT + 1] = {
		[ETW_FIELD_I8] = 1,     [ETW_FIELD_U8] = 1,       [ETW_FIELD_BOOL8] = 1,
		[ETW_FIELD_ACHAR] = 1,  [ETW_FIELD_I16] = 2,      [ETW_FIELD_U16] = 2,
		[ETW_FIELD_BOOL16] = 2, [ETW_FIELD_PORT] = 2,     [ETW_FIELD_WCHAR] = 2,
		[ETW_FIELD_I32] = 4,    [ETW_FIELD_U32] = 4,      [ETW_FIELD_BOOL32] = 4,
		[ETW_FIELD_FLOAT] = 4,  [ETW_FIELD_IP4] = 4,      [ETW_FIELD_I64] = 8,
		[ETW_FIELD_U64] = 8,    [ETW_FIELD_FILETIME] = 8, [ETW_FIELD_DOUBLE] = 8,
		[ETW_FIELD_IP6] = 16,   [ETW_FIELD_GUID] = 16,    [ETW_FIELD_SYSTEMTIME] = 16,
	};

	if (field->type == ETW_FIELD_POINTER || field->type == ETW_FIELD_SIZE) {
		return wide ? 8 : 4;
	}
	if (field_has_length(field) && field->length_type == ETW_FIELD_LENGTH_FIXED) {
		return etw_field_unit_size(field) * field->length;
	}
	return field->type <= ETW_FIELD_STRUCT ? sizes[field->type] : 0;
}

/* Returns whether a field has the same size in every payload. */
static bool is_constant(const struct etw_field *field)
{
	if (field->count_type != ETW_FIELD_SCALAR && field->count_type != ETW_FIELD_COUNT_FIXED) {
		return false;
	}
	switch (field->type) {
	case ETW_FIELD_STRUCT:
		return field->count_type == ETW_FIELD_SCALAR;
	case ETW_FIELD_NULL:
		return true;
	case ETW_FIELD_WSTRING:
	case ETW_FIELD_ASTRING:
	case ETW_FIELD_BINARY:
		return field->length_type == ETW_FIELD_LENGTH_FIXED;
	default:
		return field_element_size(field, 0) != 0;
	}
}

/* Returns the size of a constant field in bytes; ETW_FIELD_OFFSET_VARIES if it does not fit into
 * uint16_t. */
static uint16_t constant_size(const struct etw_field *field, unsigned wide)
{
	uint32_t size = field_element_size(field, wide);
	uint32_t count = field->count_type == ETW_FIELD_COUNT_FIXED ? field->count : 1;

	if (size != 0 && count > ETW_FIELD_OFFSET_VARIES / size) {
		return ETW_FIELD_OFFSET_VARIES;
	}
	return (uint16_t)(size * count);
}

/* Returns whether field number `source` may give the count or length of field number `index`. */
static bool is_usable_reference(const struct etw_field *fields, uint16_t source, uint16_t index)
{
	if (source >= index || !etw_field_is_integer(&fields[source])) {
		return false;
	}
	for (uint16_t i = 0; i < source; i++) {
		/* A field in an array of structures may only be used inside the same element. */
		if (etw_field_is_struct_array(&fields[i]) && source <= i + fields[i].span &&
		    index > i + fields[i].span) {
			return false;
		}
	}
	return true;
}

static void check_references(struct etw_field *fields, uint16_t index)
{
	struct etw_field *field = &fields[index];

	if (field->count_type == ETW_FIELD_COUNT_FIELD &&
	    !is_usable_reference(fields, field->count, index)) {
		field->count_type = ETW_FIELD_SCALAR;
	}
	if (!field_has_length(field)) {
		field->length_type = ETW_FIELD_LENGTH_TYPE;
	}
	if (field->length_type == ETW_FIELD_LENGTH_FIELD &&
	    !is_usable_reference(fields, field->length, index)) {
		field->length_type = ETW_FIELD_LENGTH_TYPE;
	}
}

uint16_t fields_place(struct etw_field *fields, uint16_t count)
{
	uint32_t offset[2] = { 0, 0 };
	uint16_t first_variable = count;

	for (uint16_t i = 0; i < count; i++) {
		struct etw_field *field = &fields[i];
		bool constant;

		check_references(fields, i);
		constant = is_constant(field);
		for (unsigned wide = 0; wide < 2; wide++) {
			uint16_t size = constant ? constant_size(field, wide) : 0;

			if (size == ETW_FIELD_OFFSET_VARIES) {
				constant = false;
				size = 0;
			}
			field->size[wide] = size;
			field->offset[wide] = ETW_FIELD_OFFSET_VARIES;
			if (first_variable == count && offset[wide] < ETW_FIELD_OFFSET_VARIES) {
				field->offset[wide] = (uint16_t)offset[wide];
				offset[wide] += size;
			}
		}
		if (first_variable == count &&
		    (!constant || field->offset[1] == ETW_FIELD_OFFSET_VARIES)) {
			first_variable = i;
		}
	}
	return first_variable;
}

static int find_field(const struct etw_field *fields, unsigned first, unsigned end,
		      const char *name)
{
	for (unsigned i = first; i < end; i += 1U + fields[i].span) {
		const struct etw_field *field = &fields[i];
		size_t length;
		int found;

		if (field->type != ETW_FIELD_STRUCT) {
			if (strcmp(field->name, name) == 0) {
				return (int)i;
			}
			continue;
		}
		length = strlen(field->name);
		if (field->count_type != ETW_FIELD_SCALAR ||
		    strncmp(field->name, name, length) != 0 || name[length] != '.') {
			continue;
		}
		found = find_field(fields, i + 1, i + 1 + field->span, name + length + 1);
		if (found >= 0) {
			return found;
		}
	}
	return -1;
}

unsigned schema_end_of_whole(const struct etw_schema *schema, unsigned whole)
{
	unsigned end = 0;

	while (end < schema->field_count && etw_field_after(schema, end) <= whole) {
		end = etw_field_after(schema, end);
	}
	return end;
}

int etw_schema_find_field(const struct etw_schema *schema, const char *name)
{
	return find_field(schema->fields, 0, schema->field_count, name);
}

/* ---- one field ---- */

/* Returns the size of the string at `at` in bytes, with its terminator. A string without a
 * terminator ends with the payload. */
static uint32_t string_size(unsigned type, const uint8_t *at, uint32_t left)
{
	if (type == ETW_FIELD_WSTRING) {
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
	case ETW_FIELD_WCOUNTED:
	case ETW_FIELD_ACOUNTED:
	case ETW_FIELD_BINARY16:
	case ETW_FIELD_WCOUNTED_BE:
	case ETW_FIELD_ACOUNTED_BE:
		return 2;
	case ETW_FIELD_BINARY32:
		return 4;
	default:
		return 0;
	}
}

/*
 * Returns the size of one element that contains its own size or terminator, its count included;
 * NOT_WHOLE if the element does not fit into the payload.
 */
static uint32_t own_size(unsigned type, const uint8_t *at, uint32_t left)
{
	uint32_t prefix = field_prefix_size(type);
	uint32_t size;

	if (type == ETW_FIELD_SID) {
		size = (uint32_t)etw_sid_size(at, left);
		return size != 0 ? size : NOT_WHOLE;
	}
	if (prefix == 0) {
		return left > 0 ? string_size(type, at, left) : NOT_WHOLE;
	}
	if (left < prefix) {
		return NOT_WHOLE;
	}
	if (prefix == 4) {
		size = etw_load_u32(at);
	} else if (type == ETW_FIELD_WCOUNTED_BE || type == ETW_FIELD_ACOUNTED_BE) {
		size = (uint32_t)at[0] << 8 | at[1];
	} else {
		size = etw_load_u16(at);
	}
	return size <= left - prefix ? prefix + size : NOT_WHOLE;
}

/* Makes a cut slice from the rest of the payload, if there is a rest. Returns 0, the number of
 * bytes to step over. */
static uint32_t not_whole(const uint8_t *at, uint32_t left, struct etw_field_slice *slice)
{
	if (left > 0) {
		*slice = (struct etw_field_slice){ .at = at, .size = left, .cut = true };
	}
	return 0;
}

/* Takes `count` elements of the same size. Returns the number of bytes to step over. */
static uint32_t take_fixed(const uint8_t *at, uint32_t left, uint32_t size, uint32_t count,
			   bool array, struct etw_field_slice *slice)
{
	uint32_t fits = size != 0 ? left / size : UINT32_MAX;

	if (count <= fits) {
		*slice = (struct etw_field_slice){ .at = at, .size = count * size, .count = count };
	} else if (left > 0) {
		*slice = (struct etw_field_slice){
			.at = at, .size = array ? fits * size : left, .count = fits, .cut = true
		};
	}
	return slice->size;
}

/*
 * Takes `count` elements that contain their own sizes (UINT32_MAX: all up to the end of the
 * payload). Returns the number of bytes to step over.
 */
static uint32_t take_own(unsigned type, const uint8_t *at, uint32_t left, uint32_t count,
			 struct etw_field_slice *slice)
{
	struct etw_field_slice taken = { .at = at };

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
			     struct etw_field_slice *slice)
{
	uint32_t size = own_size(type, at, left);
	uint32_t prefix = field_prefix_size(type);

	if (size == NOT_WHOLE) {
		return left > prefix ? not_whole(at + prefix, left - prefix, slice) :
				       not_whole(at, left, slice);
	}
	*slice = (struct etw_field_slice){ .at = at + prefix, .size = size - prefix, .count = 1 };
	return size;
}

static uint32_t take_kernel_sid(const uint8_t *at, uint32_t left, unsigned wide,
				struct etw_field_slice *slice)
{
	const uint8_t *sid = NULL;
	uint32_t size = (uint32_t)kernel_sid_size(at, left, wide ? 8 : 4, &sid);

	if (size == 0) {
		return not_whole(at, left, slice);
	}
	if (sid) {
		*slice = (struct etw_field_slice){ .at = sid,
						   .size = (uint32_t)(at + size - sid),
						   .count = 1 };
	} else {
		*slice = (struct etw_field_slice){ .at = at, .count = 1 };
	}
	return size;
}

/* A walk over the fields of one payload. */
struct walk {
	const struct etw_schema *schema;
	const struct etw_record *record;
	struct etw_field_slice *slices; /* by index of the field */
	unsigned first;  /* slices before it are not set; their offsets are constant */
	unsigned visits; /* visited fields inside arrays of structures */
};

/* Returns the value of the integer field `source`, which gives a count or a length. */
static uint32_t number_in(const struct walk *walk, unsigned source)
{
	struct etw_field_slice slice;
	uint64_t number;

	if (source >= walk->first) {
		slice = walk->slices[source];
	} else if (!etw_field_locate(walk->schema, source, walk->record, &slice)) {
		return 0;
	}
	number = etw_field_u64(&walk->schema->fields[source], &slice);
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX - 1;
}

/* Sets the number of elements (UINT32_MAX: up to the end) and steps over a count in the payload. */
static bool take_count(const struct walk *walk, const struct etw_field *field, const uint8_t **at,
		       uint32_t *left, uint32_t *count)
{
	switch ((enum etw_field_count_type)field->count_type) {
	case ETW_FIELD_SCALAR:
		*count = 1;
		return true;
	case ETW_FIELD_COUNT_FIXED:
		*count = field->count;
		return true;
	case ETW_FIELD_COUNT_REST:
		*count = UINT32_MAX;
		return true;
	case ETW_FIELD_COUNT_FIELD:
		*count = number_in(walk, field->count);
		return true;
	case ETW_FIELD_COUNT_PREFIX:
		break;
	}
	if (*left < 2) {
		return false;
	}
	*count = etw_load_u16(*at);
	*at += 2;
	*left -= 2;
	return true;
}

/* Marks the slice as cut if the payload ends right after the count of an array. */
static void only_count(bool has_count, const uint8_t *at, struct etw_field_slice *slice)
{
	if (has_count && !slice->at) {
		*slice = (struct etw_field_slice){ .at = at, .cut = true };
	}
}

/* Takes strings or binary data, which end as `length_type` or their type says. */
static uint32_t take_with_length(const struct walk *walk, const struct etw_field *field,
				 const uint8_t *at, uint32_t left, uint32_t count,
				 struct etw_field_slice *slice)
{
	bool array = field->count_type != ETW_FIELD_SCALAR;
	uint32_t length;

	switch ((enum etw_field_length_type)field->length_type) {
	case ETW_FIELD_LENGTH_FIELD:
		length = number_in(walk, field->length);
		if (length > left) {
			length = left + 1; /* too long in any case; avoids an overflow below */
		}
		length *= etw_field_unit_size(field);
		if (count == UINT32_MAX) {
			count = length != 0 ? left / length : 0;
		}
		return take_fixed(at, left, length, count, array, slice);
	case ETW_FIELD_LENGTH_TYPE:
		if (field->type != ETW_FIELD_BINARY) {
			return array ? take_own(field->type, at, left, count, slice) :
				       take_one_own(field->type, at, left, slice);
		}
		break;
	case ETW_FIELD_LENGTH_REST:
	case ETW_FIELD_LENGTH_FIXED: /* not here: such fields have an element size */
		break;
	}
	/* One value up to the end of the payload. */
	*slice = (struct etw_field_slice){ .at = at, .size = left, .count = 1 };
	if (left == 0) {
		*slice = (struct etw_field_slice){ .at = NULL };
	}
	return left;
}

/*
 * Fills the slice of the field that starts at *offset, and moves *offset past the field. Returns
 * false if the payload does not contain the whole field.
 */
static bool take_field(const struct walk *walk, const struct etw_field *field, uint32_t *offset,
		       struct etw_field_slice *slice)
{
	const uint8_t *start = walk->record->payload + *offset;
	const uint8_t *at = start;
	uint32_t left = walk->record->payload_size - *offset;
	unsigned wide = walk->record->pointer_size == 8;
	uint32_t size = field_element_size(field, wide);
	bool array = field->count_type != ETW_FIELD_SCALAR;
	uint32_t count;

	*slice = (struct etw_field_slice){ .at = NULL };
	if (!take_count(walk, field, &at, &left, &count)) {
		not_whole(at, left, slice);
		return false;
	}
	if (size != 0) {
		if (count == UINT32_MAX) {
			count = left / size;
		}
		size = take_fixed(at, left, size, count, array, slice);
	} else if (field_has_length(field) && field->length_type != ETW_FIELD_LENGTH_FIXED) {
		size = take_with_length(walk, field, at, left, count, slice);
	} else if (field->type == ETW_FIELD_KERNEL_SID) {
		size = take_kernel_sid(at, left, wide, slice);
	} else if (field->type == ETW_FIELD_NULL || field_has_length(field)) {
		*slice = (struct etw_field_slice){ .at = at,
						   .count = count != UINT32_MAX ? count : 0 };
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

/* Returns whether a field is in an array of structures that is at index `first` or later. */
static bool is_in_array(const struct etw_schema *schema, unsigned first, unsigned index)
{
	for (unsigned i = first; i < index; i++) {
		if (etw_field_is_struct_array(&schema->fields[i]) &&
		    index <= i + schema->fields[i].span) {
			return true;
		}
	}
	return false;
}

/* A payload may end before its last field if that is a text, which is then empty ("TDH_INTYPE_…" in
 * tdh.h: the last one may lack its terminator). This does not hold for kernel layouts, because a
 * version may have got such a field later. */
static bool take_left_out(struct walk *walk, unsigned index, uint32_t offset)
{
	const struct etw_record *record = walk->record;
	const struct etw_field *field = &walk->schema->fields[index];

	if (walk->schema->origin == ETW_SCHEMA_KERNEL || index + 1U != walk->schema->field_count ||
	    offset != record->payload_size || field->count_type != ETW_FIELD_SCALAR ||
	    (field->type != ETW_FIELD_WSTRING && field->type != ETW_FIELD_ASTRING) ||
	    (field->length_type != ETW_FIELD_LENGTH_TYPE &&
	     field->length_type != ETW_FIELD_LENGTH_REST) ||
	    is_in_array(walk->schema, 0, index)) {
		return false;
	}
	walk->slices[index] =
		(struct etw_field_slice){ .at = record->payload + offset, .count = 1 };
	return true;
}

/* Walks one element of an array of structures. Returns false if the element is not whole. */
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
	const struct etw_field *field = &walk->schema->fields[index];
	struct etw_field_slice *slice = &walk->slices[index];
	const uint8_t *start = walk->record->payload + *offset;
	const uint8_t *at = start;
	uint32_t left = walk->record->payload_size - *offset;
	struct etw_field_slice taken;
	uint32_t count;

	*slice = (struct etw_field_slice){ .at = NULL };
	if (!take_count(walk, field, &at, &left, &count)) {
		not_whole(at, left, slice);
		return false;
	}
	*offset += (uint32_t)(at - start);
	taken = (struct etw_field_slice){ .at = at };
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

/* Returns whether the field is an integer of constant size, as most fields are. */
static bool is_plain(const struct etw_field *field, unsigned wide)
{
	return etw_field_is_integer(field) && field->size[wide] != 0;
}

/* Returns whether the field is a string that ends at its NUL, as most variable fields are. */
static bool is_string(const struct etw_field *field)
{
	return field->type == ETW_FIELD_WSTRING && field->count_type == ETW_FIELD_SCALAR &&
	       field->length_type == ETW_FIELD_LENGTH_TYPE;
}

/*
 * Locates fields first … end - 1; the first one starts at *offset. Returns the index of the first
 * field that is not whole, and leaves *offset after the last whole field.
 */
static unsigned walk_fields(struct walk *walk, unsigned first, unsigned end, uint32_t *offset)
{
	const struct etw_record *record = walk->record;
	const unsigned wide = record->pointer_size == 8;
	unsigned i = first;

	while (i < end) {
		const struct etw_field *field = &walk->schema->fields[i];

		if (is_plain(field, wide) && record->payload_size - *offset >= field->size[wide]) {
			walk->slices[i] = (struct etw_field_slice){ .at = record->payload + *offset,
								    .size = field->size[wide],
								    .count = 1 };
			*offset += field->size[wide];
			i++;
		} else if (is_string(field) && record->payload_size > *offset) {
			const uint8_t *at = record->payload + *offset;
			uint32_t size =
				string_size(ETW_FIELD_WSTRING, at, record->payload_size - *offset);

			walk->slices[i] =
				(struct etw_field_slice){ .at = at, .size = size, .count = 1 };
			*offset += size;
			i++;
		} else if (field->type != ETW_FIELD_STRUCT) {
			if (!take_field(walk, field, offset, &walk->slices[i]) &&
			    !take_left_out(walk, i, *offset)) {
				return i;
			}
			i++;
		} else if (field->count_type == ETW_FIELD_SCALAR) {
			walk->slices[i] =
				(struct etw_field_slice){ .at = walk->record->payload + *offset,
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

bool etw_field_locate_by_walk(const struct etw_schema *schema, unsigned index,
			      const struct etw_record *record, struct etw_field_slice *slice)
{
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	unsigned wide = record->pointer_size == 8;
	unsigned first = schema->first_variable < index ? schema->first_variable : index;
	struct walk walk = { .schema = schema, .record = record, .slices = slices, .first = first };
	uint32_t offset = schema->fields[first].offset[wide];

	*slice = (struct etw_field_slice){ .at = NULL };
	if (offset > record->payload_size || schema->field_count > ETW_SCHEMA_FIELDS_MOST ||
	    is_in_array(schema, first, index)) {
		return false;
	}
	if (walk_fields(&walk, first, index + 1, &offset) >= index) {
		*slice = slices[index];
	}
	return slice->at && !slice->cut;
}

unsigned etw_fields_walk(const struct etw_schema *schema, unsigned last,
			 const struct etw_record *record, struct etw_field_slice *slices,
			 uint32_t *rest)
{
	struct walk walk = { .schema = schema, .record = record, .slices = slices };
	uint32_t offset = 0;
	unsigned whole = walk_fields(&walk, 0, last + 1, &offset);

	for (unsigned i = whole + 1; i <= last; i++) {
		slices[i] = (struct etw_field_slice){ .at = NULL };
	}
	if (rest) {
		*rest = whole > last ? record->payload_size - offset : 0;
	}
	return whole;
}

bool etw_field_next_struct(const struct etw_schema *schema, unsigned index,
			   const struct etw_record *record, struct etw_field_slice *slices,
			   uint32_t *offset)
{
	const struct etw_field_slice *array = &slices[index];
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

bool etw_field_next_element(const struct etw_field *field, const struct etw_field_slice *array,
			    uint32_t *offset, struct etw_field_slice *element)
{
	uint32_t size = array->size, prefix = 0;

	if (!array->at || *offset >= size || (array->cut && array->count == 0)) {
		return false;
	}
	if (field->count_type == ETW_FIELD_SCALAR || etw_field_is_text_of_chars(field)) {
		size -= *offset;
	} else if (field_element_size(field, 0) != 0 ||
		   (field_has_length(field) && field->length_type != ETW_FIELD_LENGTH_TYPE) ||
		   field->type == ETW_FIELD_BINARY || field->type == ETW_FIELD_KERNEL_SID) {
		size /= array->count; /* all elements have the same size */
	} else if (field->type != ETW_FIELD_STRUCT) {
		prefix = field_prefix_size(field->type);
		size = own_size(field->type, array->at + *offset, size - *offset);
	} else {
		return false;
	}
	*element = (struct etw_field_slice){ .at = array->at + *offset + prefix,
					     .size = size - prefix,
					     .count = 1 };
	*offset += size;
	return true;
}
