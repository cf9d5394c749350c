/* SPDX-License-Identifier: MIT */
/*
 * Fields as text.
 *
 * field_text() is the only place that converts a located field to text; label values, dumps and
 * filters all use it, so the same value reads the same everywhere. It takes the elements of the
 * slice one by one and converts each by its type. Scalars have one element.
 *
 * Payloads often contradict their schema. A value of the wrong size gives no text instead of an
 * error, and a cut number gives none, because part of a number is not a number. Narrow strings have
 * no declared encoding: valid UTF-8 is copied, and all other bytes are read as Latin-1.
 */
#include "decode/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guid.h"
#include "base/text.h"
#include "base/utf8.h"
#include "decode/text_forms.h"

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
