/* SPDX-License-Identifier: MIT */
/*
 * Fields as text and numbers, and the names of values.
 *
 * field_text() is the only place that converts a located field to text; label values, dumps and
 * filters all use it, so the same value reads the same everywhere. It takes the elements of the
 * slice one by one and converts each by its type. Scalars have one element.
 *
 * Payloads often contradict their schema. A value of the wrong size gives no text instead of an
 * error, and a cut number gives none, because part of a number is not a number. Narrow strings have
 * no declared encoding: valid UTF-8 is copied, and all other bytes are read as Latin-1.
 */
#include "lib/decode/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guid.h"
#include "base/text.h"
#include "base/utf8.h"
#include "lib/decode/text_forms.h"

void field_number_text(const struct field *field, uint64_t value, struct text *out)
{
	bool is_signed = field_is_signed(field);
	bool short_signed = is_signed && field->type != FIELD_I64;

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

double field_double(const struct field *field, const struct field_slice *slice)
{
	if (field->type == FIELD_FLOAT && slice->size == 4) {
		uint32_t bits = load_u32(slice->at);
		float value;

		memcpy(&value, &bits, sizeof value);
		return (double)value;
	}
	if (field->type == FIELD_DOUBLE && slice->size == 8) {
		uint64_t bits = load_u64(slice->at);
		double value;

		memcpy(&value, &bits, sizeof value);
		return value;
	}
	return 0;
}

/* The shortest text that is read back as the same number; a float gives "0.1", too. */
static void add_floating(const struct field *field, const struct field_slice *slice,
			 struct text *out)
{
	double value = field_double(field, slice);
	char number[40];

	for (int precision = 6; precision <= 17; precision++) {
		snprintf(number, sizeof number, "%.*g", precision, value);
		if (field->type == FIELD_FLOAT ? strtof(number, NULL) == (float)value :
						 strtod(number, NULL) == value) {
			break;
		}
	}
	text_add_string(out, number);
}

/* Copies valid UTF-8; otherwise each byte is a Latin-1 character. */
static void add_narrow(const uint8_t *at, size_t length, struct text *out)
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
static void add_counted(const struct field_slice *slice, bool wide, struct text *out)
{
	size_t length = slice->size;

	if (wide) {
		length /= 2;
		while (length > 0 && load_u16(slice->at + 2 * (length - 1)) == 0) {
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

static void add_system_time(const uint8_t *at, struct text *out)
{
	/* year, month, day of the week, day, hour, minute, second, millisecond */
	text_add_format(out, "%04u-%02u-%02uT%02u:%02u:%02u.%03u", load_u16(at), load_u16(at + 2),
			load_u16(at + 6), load_u16(at + 8), load_u16(at + 10), load_u16(at + 12),
			load_u16(at + 14));
}

static bool add_socket_address(const uint8_t *at, size_t size, struct text *out)
{
	struct socket_address address;
	bool brackets;

	if (!socket_address_read(at, size, &address)) {
		return false;
	}
	brackets = address.is_ip6 && address.port != 0;
	text_add_string(out, brackets ? "[" : "");
	text_add_ip(out, address.ip, address.is_ip6);
	text_add_string(out, brackets ? "]" : "");
	if (address.port != 0) {
		text_add_char(out, ':');
		text_add_u64(out, address.port);
	}
	return true;
}

static void add_binary(const struct field *field, const struct field_slice *slice, struct text *out)
{
	if (field->form == FIELD_FORM_IP6 && slice->size == 16) {
		text_add_ip6(out, slice->at);
	} else if (field->form != FIELD_FORM_SOCKADDR ||
		   !add_socket_address(slice->at, slice->size, out)) {
		text_add_hex(out, slice->at, slice->size);
	}
}

static void add_one(const struct field *field, const struct field_slice *slice, struct text *out)
{
	switch (field->type) {
	case FIELD_FLOAT:
	case FIELD_DOUBLE:
		add_floating(field, slice, out);
		break;
	case FIELD_IP4:
		if (slice->size == 4) {
			text_add_ip4(out, slice->at);
		}
		break;
	case FIELD_IP6:
		if (slice->size == 16) {
			text_add_ip6(out, slice->at);
		}
		break;
	case FIELD_GUID:
		if (slice->size == sizeof(struct guid)) {
			char text[GUID_TEXT_SIZE];
			struct guid guid;

			memcpy(guid.bytes, slice->at, sizeof guid.bytes);
			guid_format(&guid, text);
			text_add_string(out, text);
		}
		break;
	case FIELD_SYSTEMTIME:
		if (slice->size == 16) {
			add_system_time(slice->at, out);
		}
		break;
	case FIELD_WSTRING:
		text_add_utf16(out, slice->at, utf16_length(slice->at, slice->size / 2));
		break;
	case FIELD_ASTRING:
		add_narrow(slice->at, narrow_length(slice->at, slice->size), out);
		break;
	case FIELD_WCHAR:
	case FIELD_WCOUNTED:
	case FIELD_WCOUNTED_BE:
		add_counted(slice, true, out);
		break;
	case FIELD_ACHAR:
	case FIELD_ACOUNTED:
	case FIELD_ACOUNTED_BE:
		add_counted(slice, false, out);
		break;
	case FIELD_BINARY:
	case FIELD_BINARY16:
	case FIELD_BINARY32:
		add_binary(field, slice, out);
		break;
	case FIELD_SID:
	case FIELD_KERNEL_SID:
		if (sid_size(slice->at, slice->size) != 0) {
			text_add_sid(out, slice->at);
		}
		break;
	case FIELD_NULL:
	case FIELD_STRUCT:
		break;
	default:
		field_number_text(field, field_u64(field, slice), out);
		break;
	}
}

void field_text(const struct field *field, const struct field_slice *slice, struct text *out)
{
	struct field_slice element;
	uint32_t offset = 0;

	if (slice->cut && field->count_type == FIELD_SCALAR && field->type <= FIELD_DOUBLE) {
		return; /* part of a number is not a number */
	}
	for (bool first = true; field_next_element(field, slice, &offset, &element);
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
	const struct value_name *a = left, *b = right;

	if (a->value != b->value) {
		return a->value < b->value ? -1 : 1;
	}
	return a->order < b->order ? -1 : a->order > b->order;
}

void value_map_sort(struct value_map *map)
{
	struct value_name *names = map->names;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < map->count; i++) {
		names[i].order = i;
	}
	if (map->count > 0) {
		qsort(names, map->count, sizeof *names, compare_values);
	}
	for (uint32_t i = 0; i < map->count; i++) {
		if (kept == 0 || names[i].value != names[kept - 1].value) {
			names[kept++] = names[i];
		}
	}
	map->count = kept;
}

static const char *name_of(const struct value_map *map, uint64_t value)
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

static bool add_bits(const struct value_map *map, uint64_t value, struct text *out)
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

bool value_map_text(const struct value_map *map, uint64_t value, struct text *out)
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

bool value_map_value(const struct value_map *map, const char *name, size_t size, uint32_t *value)
{
	const struct value_name *found = NULL;

	for (uint32_t i = 0; i < map->count; i++) {
		const struct value_name *other = &map->names[i];

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

struct field_reader field_reader_of(const struct schema *schema, int index, uint8_t pointer_size)
{
	struct field_reader reader = { 0 };
	unsigned wide = pointer_size == 8;
	const struct field *field;

	if (!schema || index < 0 || !field_is_integer(&schema->fields[index])) {
		return reader;
	}
	field = &schema->fields[index];
	reader.index = (uint16_t)index;
	reader.offset = field->offset[wide];
	reader.size = (uint8_t)field->size[wide];
	reader.type = field->type;
	reader.end = reader.offset == FIELD_OFFSET_VARIES ? FIELD_READER_WALKS :
							    (uint32_t)reader.offset + reader.size;
	return reader;
}

bool field_read_by_walk(const struct field_reader *reader, const struct schema *schema,
			const struct event_record *record, uint64_t *value)
{
	struct field_slice slice;

	if (reader->size == 0 || !field_locate(schema, reader->index, record, &slice)) {
		return false;
	}
	*value = field_u64(&schema->fields[reader->index], &slice);
	return true;
}
