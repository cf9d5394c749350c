/* SPDX-License-Identifier: MIT */
/*
 * Fields as text and numbers, and the names of values.
 *
 * etw_field_text() is the only place that converts a located field to text; label values, dumps and
 * filters all use it, so the same value reads the same everywhere. It takes the elements of the
 * slice one by one and converts each by its type. Scalars have one element.
 *
 * Payloads often contradict their schema. A value of the wrong size gives no text instead of an
 * error, and a cut number gives none, because part of a number is not a number. Narrow strings have
 * no declared encoding: valid UTF-8 is copied, and all other bytes are read as Latin-1.
 */
#include <etw/schema.h>

#include "lib/decode/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/guid.h"
#include "base/text.h"
#include "base/utf8.h"

void etw_field_number_text(const struct etw_field *field, uint64_t value, struct etw_text *out)
{
	bool is_signed = etw_field_is_signed(field);
	bool short_signed = is_signed && field->type != ETW_FIELD_I64;

	/* A value map names the 32 bits of the payload, not the sign-extended value. */
	if (field->map && value_map_text(field->map, short_signed ? (uint32_t)value : value, out)) {
		return;
	}
	if (is_signed) {
		text_add_i64(out, (int64_t)value);
	} else {
		text_add_u64(out, value);
	}
}

double etw_field_double(const struct etw_field *field, const struct etw_field_slice *slice)
{
	if (field->type == ETW_FIELD_FLOAT && slice->size == 4) {
		uint32_t bits = etw_load_u32(slice->at);
		float value;

		memcpy(&value, &bits, sizeof value);
		return (double)value;
	}
	if (field->type == ETW_FIELD_DOUBLE && slice->size == 8) {
		uint64_t bits = etw_load_u64(slice->at);
		double value;

		memcpy(&value, &bits, sizeof value);
		return value;
	}
	return 0;
}

/* Adds the shortest text that reads back as the same number, such as "0.1" for a float. */
static void add_floating(const struct etw_field *field, const struct etw_field_slice *slice,
			 struct etw_text *out)
{
	double value = etw_field_double(field, slice);
	char number[40];

	for (int precision = 6; precision <= 17; precision++) {
		snprintf(number, sizeof number, "%.*g", precision, value);
		if (field->type == ETW_FIELD_FLOAT ? strtof(number, NULL) == (float)value :
						     strtod(number, NULL) == value) {
			break;
		}
	}
	text_add_string(out, number);
}

/* Copies valid UTF-8; otherwise each byte is a Latin-1 character. */
static void add_narrow(const uint8_t *at, size_t length, struct etw_text *out)
{
	bool utf8 = true;

	for (size_t i = 0, taken; i < length && utf8; i += taken) {
		uint32_t codepoint;

		taken = utf8_decode((const char *)at + i, length - i, &codepoint);
		utf8 = codepoint != UTF8_REPLACEMENT ||
		       (taken == 3 && memcmp(at + i, "\xef\xbf\xbd", 3) == 0);
	}
	if (utf8) {
		text_add(out, (const char *)at, length);
		return;
	}
	for (size_t i = 0; i < length; i++) {
		char encoded[4];

		text_add(out, encoded, utf8_encode(at[i], encoded));
	}
}

static size_t narrow_length(const uint8_t *at, size_t size)
{
	const uint8_t *nul = size > 0 ? memchr(at, 0, size) : NULL;

	return nul ? (size_t)(nul - at) : size;
}

/* Adds text with a count, without the NULs at its end, which some writers include in the count. */
static void add_counted(const struct etw_field_slice *slice, bool wide, struct etw_text *out)
{
	size_t length = slice->size;

	if (wide) {
		length /= 2;
		while (length > 0 && etw_load_u16(slice->at + 2 * (length - 1)) == 0) {
			length--;
		}
		text_add_utf16(out, slice->at, length);
		return;
	}
	while (length > 0 && slice->at[length - 1] == 0) {
		length--;
	}
	add_narrow(slice->at, length, out);
}

static void add_system_time(const uint8_t *at, struct etw_text *out)
{
	/* year, month, day of the week, day, hour, minute, second, millisecond */
	text_add_format(out, "%04u-%02u-%02uT%02u:%02u:%02u.%03u", etw_load_u16(at),
			etw_load_u16(at + 2), etw_load_u16(at + 6), etw_load_u16(at + 8),
			etw_load_u16(at + 10), etw_load_u16(at + 12), etw_load_u16(at + 14));
}

static bool add_socket_address(const uint8_t *at, size_t size, struct etw_text *out)
{
	struct etw_socket_address address;
	bool brackets;

	if (!etw_socket_address_read(at, size, &address)) {
		return false;
	}
	brackets = address.is_ip6 && address.port != 0;
	text_add_string(out, brackets ? "[" : "");
	etw_text_add_ip(out, address.ip, address.is_ip6);
	text_add_string(out, brackets ? "]" : "");
	if (address.port != 0) {
		text_add_char(out, ':');
		text_add_u64(out, address.port);
	}
	return true;
}

static void add_binary(const struct etw_field *field, const struct etw_field_slice *slice,
		       struct etw_text *out)
{
	if (field->form == ETW_FIELD_FORM_IP6 && slice->size == 16) {
		etw_text_add_ip6(out, slice->at);
	} else if (field->form != ETW_FIELD_FORM_SOCKADDR ||
		   !add_socket_address(slice->at, slice->size, out)) {
		text_add_hex(out, slice->at, slice->size);
	}
}

static void add_one(const struct etw_field *field, const struct etw_field_slice *slice,
		    struct etw_text *out)
{
	switch (field->type) {
	case ETW_FIELD_FLOAT:
	case ETW_FIELD_DOUBLE:
		add_floating(field, slice, out);
		break;
	case ETW_FIELD_IP4:
		if (slice->size == 4) {
			etw_text_add_ip4(out, slice->at);
		}
		break;
	case ETW_FIELD_IP6:
		if (slice->size == 16) {
			etw_text_add_ip6(out, slice->at);
		}
		break;
	case ETW_FIELD_GUID:
		if (slice->size == sizeof(struct etw_guid)) {
			char text[GUID_TEXT_SIZE];
			struct etw_guid guid;

			memcpy(guid.bytes, slice->at, sizeof guid.bytes);
			guid_format(&guid, text);
			text_add_string(out, text);
		}
		break;
	case ETW_FIELD_SYSTEMTIME:
		if (slice->size == 16) {
			add_system_time(slice->at, out);
		}
		break;
	case ETW_FIELD_WSTRING:
		text_add_utf16(out, slice->at, utf16_length(slice->at, slice->size / 2));
		break;
	case ETW_FIELD_ASTRING:
		add_narrow(slice->at, narrow_length(slice->at, slice->size), out);
		break;
	case ETW_FIELD_WCHAR:
	case ETW_FIELD_WCOUNTED:
	case ETW_FIELD_WCOUNTED_BE:
		add_counted(slice, true, out);
		break;
	case ETW_FIELD_ACHAR:
	case ETW_FIELD_ACOUNTED:
	case ETW_FIELD_ACOUNTED_BE:
		add_counted(slice, false, out);
		break;
	case ETW_FIELD_BINARY:
	case ETW_FIELD_BINARY16:
	case ETW_FIELD_BINARY32:
		add_binary(field, slice, out);
		break;
	case ETW_FIELD_SID:
	case ETW_FIELD_KERNEL_SID:
		if (etw_sid_size(slice->at, slice->size) != 0) {
			etw_text_add_sid(out, slice->at);
		}
		break;
	case ETW_FIELD_NULL:
	case ETW_FIELD_STRUCT:
		break;
	default:
		etw_field_number_text(field, etw_field_u64(field, slice), out);
		break;
	}
}

void etw_field_text(const struct etw_field *field, const struct etw_field_slice *slice,
		    struct etw_text *out)
{
	struct etw_field_slice element;
	uint32_t offset = 0;

	if (slice->cut && field->count_type == ETW_FIELD_SCALAR &&
	    field->type <= ETW_FIELD_DOUBLE) {
		return; /* part of a number is not a number */
	}
	for (bool first = true; etw_field_next_element(field, slice, &offset, &element);
	     first = false) {
		if (!first) {
			text_add_char(out, ',');
		}
		add_one(field, &element, out);
	}
}

/* ---- names of values ---- */

static int compare_values(const void *left, const void *right)
{
	const struct etw_value_name *a = left, *b = right;

	if (a->value != b->value) {
		return a->value < b->value ? -1 : 1;
	}
	return a->order < b->order ? -1 : a->order > b->order;
}

void value_map_sort(struct etw_value_map *map)
{
	struct etw_value_name *names = map->names;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < map->count; i++) {
		names[i].order = i;
	}
	if (map->count > 0) {
		sort_items(names, map->count, sizeof *names, compare_values);
	}
	for (uint32_t i = 0; i < map->count; i++) {
		if (kept == 0 || names[i].value != names[kept - 1].value) {
			names[kept++] = names[i];
		}
	}
	map->count = kept;
}

static const char *name_of(const struct etw_value_map *map, uint64_t value)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->names[middle].value < value) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < map->count && map->names[low].value == value ? map->names[low].name : NULL;
}

static bool add_bits(const struct etw_value_map *map, uint64_t value, struct etw_text *out)
{
	uint64_t unnamed = value;
	const char *between = "";

	for (uint32_t i = 0; i < map->count; i++) {
		uint32_t bits = map->names[i].value;

		if (bits != 0 && (value & bits) == bits) {
			text_add_string(out, between);
			text_add_string(out, map->names[i].name);
			between = "|";
			unnamed &= ~(uint64_t)bits;
		}
	}
	if (unnamed != 0) {
		text_add_format(out, "%s0x%" PRIx64, between, unnamed);
	}
	return true;
}

bool value_map_text(const struct etw_value_map *map, uint64_t value, struct etw_text *out)
{
	const char *name;

	if (map->bits && value != 0) {
		return add_bits(map, value, out);
	}
	name = name_of(map, value);
	if (name) {
		text_add_string(out, name);
	}
	return name != NULL;
}

bool etw_value_map_value(const struct etw_value_map *map, const char *name, size_t size,
			 uint32_t *value)
{
	const struct etw_value_name *found = NULL;

	for (uint32_t i = 0; i < map->count; i++) {
		const struct etw_value_name *other = &map->names[i];

		if (!text_equal_nocase(other->name, strlen(other->name), name, size)) {
			continue;
		}
		if (found) {
			return false;
		}
		found = other;
	}
	if (found) {
		*value = found->value;
	}
	return found != NULL;
}

/* ---- readers ---- */

struct etw_field_reader etw_field_reader_of(const struct etw_schema *schema, int index,
					    uint8_t pointer_size)
{
	struct etw_field_reader reader = { 0 };
	unsigned wide = pointer_size == 8;
	const struct etw_field *field;

	if (!schema || index < 0 || !etw_field_is_integer(&schema->fields[index])) {
		return reader;
	}
	field = &schema->fields[index];
	reader.index = (uint16_t)index;
	reader.offset = field->offset[wide];
	reader.size = (uint8_t)field->size[wide];
	reader.type = field->type;
	reader.end = reader.offset == ETW_FIELD_OFFSET_VARIES ?
			     ETW_FIELD_READER_WALKS :
			     (uint32_t)reader.offset + reader.size;
	return reader;
}

bool etw_field_read_by_walk(const struct etw_field_reader *reader, const struct etw_schema *schema,
			    const struct etw_record *record, uint64_t *value)
{
	struct etw_field_slice slice;

	if (reader->size == 0 || !etw_field_locate(schema, reader->index, record, &slice)) {
		return false;
	}
	*value = etw_field_u64(&schema->fields[reader->index], &slice);
	return true;
}

/* ---- paths ---- */

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
