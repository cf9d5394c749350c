/* SPDX-License-Identifier: MIT */
/*
 * Converts the text of one value to the bytes of a payload.
 *
 * Values have the forms that dumps have (lib/decode/event_json.c): JSON numbers, true and false,
 * and texts for everything else. A number may also be a text, as on a command line: in decimal, in
 * hexadecimal after 0x, or as the name that the field's map has for it. Nothing is rounded, cut or
 * wrapped: a value that does not fit is an error that says what was expected.
 *
 * Narrow text is written as UTF-8. The reader decodes narrow bytes as UTF-8 if they are valid
 * UTF-8, so a text reads back as it was given, even if the original was Latin-1.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>

#include "base/client_address.h"
#include "base/text.h"
#include "lib/decode/schema.h"

static bool wrong(const char *what, const struct etw_json_value *value, struct etw_error *err)
{
	if (value->type == JSON_NUMBER || value->type == JSON_TEXT) {
		return error_set(err, ETW_ERROR_FORMAT, "expected %s, found %s%.60s%s", what,
				 value->type == JSON_TEXT ? "\"" : "", value->text,
				 value->type == JSON_TEXT ? "\"" : "");
	}
	return error_set(err, ETW_ERROR_FORMAT, "expected %s, found %s", what,
			 json_type_name(value->type));
}

/* ---- numbers ---- */

/* Returns the size of an integer of the type in bytes. */
static unsigned integer_size(const struct etw_field *field, unsigned wide)
{
	return field_element_size(field, wide);
}

static bool is_bool(const struct etw_field *field)
{
	return field->type >= ETW_FIELD_BOOL8 && field->type <= ETW_FIELD_BOOL32;
}

/* Reads the integer in the form of etw_field_u64(). Returns false if the value does not fit the
 * type. */
static bool read_integer(const struct etw_field *field, unsigned wide,
			 const struct etw_json_value *value, uint64_t *number)
{
	unsigned bits = 8 * integer_size(field, wide);
	uint32_t named;
	int64_t negative;

	if (is_bool(field) && (value->type == JSON_TRUE || value->type == JSON_FALSE)) {
		*number = value->type == JSON_TRUE;
		return true;
	}
	if (value->type != JSON_NUMBER && value->type != JSON_TEXT) {
		return false;
	}
	if (value->type == JSON_TEXT && is_bool(field) &&
	    (strcmp(value->text, "true") == 0 || strcmp(value->text, "false") == 0)) {
		*number = value->text[0] == 't';
		return true;
	}
	if (value->type == JSON_TEXT && field->map &&
	    etw_value_map_value(field->map, value->text, value->size, &named)) {
		/* The map names the bits of the payload, which include the sign of a signed
		 * number. */
		*number = named;
		return bits >= 32 || named < UINT32_C(1) << bits;
	}
	if (etw_field_is_signed(field)) {
		if (!parse_i64(value->text, value->size, &negative)) {
			return false;
		}
		*number = (uint64_t)negative;
		return bits == 64 || (negative >= -(INT64_C(1) << (bits - 1)) &&
				      negative < INT64_C(1) << (bits - 1));
	}
	return parse_u64(value->text, value->size, number) &&
	       (bits == 64 || *number < UINT64_C(1) << bits);
}

static bool put_integer(const struct etw_field *field, const struct etw_json_value *value,
			struct etw_payload *out, struct etw_error *err)
{
	unsigned wide = out->pointer_size == 8;
	unsigned size = integer_size(field, wide);
	uint64_t number;
	char range[80];

	if (!read_integer(field, wide, value, &number)) {
		uint64_t most = UINT64_MAX >> (64 - 8 * size);

		if (is_bool(field)) {
			return wrong("true or false", value, err);
		}
		if (etw_field_is_signed(field)) {
			snprintf(range, sizeof range, "a whole number from %" PRId64 " to %" PRId64,
				 -(int64_t)(most >> 1) - 1, (int64_t)(most >> 1));
		} else {
			snprintf(range, sizeof range, "a whole number from 0 to %" PRIu64, most);
		}
		return wrong(range, value, err);
	}
	if (field->type == ETW_FIELD_PORT) {
		etw_payload_port(out, (uint16_t)number);
		return true;
	}
	for (unsigned i = 0; i < size; i++) {
		etw_payload_u8(out, (uint8_t)(number >> (8 * i)));
	}
	return true;
}

/* Returns false for a number that is too large for the type and would become infinite. */
static bool read_floating(const struct etw_field *field, const struct etw_json_value *value,
			  double *number)
{
	char *end;

	if (value->type == JSON_NULL) { /* JSON has no NaN */
		*number = (double)NAN;
		return true;
	}
	if ((value->type != JSON_NUMBER && value->type != JSON_TEXT) || value->size == 0) {
		return false;
	}
	/* A float that is shown with few digits must be read as a float, or the value changes. */
	*number = field->type == ETW_FIELD_FLOAT ? (double)strtof(value->text, &end) :
						   strtod(value->text, &end);
	return end == value->text + value->size &&
	       (!isinf(*number) || !strpbrk(value->text, "0123456789"));
}

static bool put_floating(const struct etw_field *field, const struct etw_json_value *value,
			 struct etw_payload *out, struct etw_error *err)
{
	double number;
	float narrow;
	uint32_t bits32;
	uint64_t bits64;

	if (!read_floating(field, value, &number)) {
		return wrong(field->type == ETW_FIELD_FLOAT ? "a number of single precision" :
							      "a number of double precision",
			     value, err);
	}
	if (field->type == ETW_FIELD_FLOAT) {
		narrow = (float)number;
		memcpy(&bits32, &narrow, sizeof bits32);
		etw_payload_u32(out, bits32);
	} else {
		memcpy(&bits64, &number, sizeof bits64);
		etw_payload_u64(out, bits64);
	}
	return true;
}

/* ---- forms of ours ---- */

static bool put_ip4(const struct etw_json_value *value, struct etw_payload *out,
		    struct etw_error *err)
{
	struct address_range range;

	if (value->type != JSON_TEXT || strchr(value->text, ':') || strchr(value->text, '/') ||
	    !address_range_parse(value->text, &range)) {
		return wrong("an address such as 10.0.0.1", value, err);
	}
	etw_payload_bytes(out, range.bytes + 12, 4);
	return true;
}

static bool put_ip6(const struct etw_json_value *value, struct etw_payload *out,
		    struct etw_error *err)
{
	struct address_range range;

	if (value->type != JSON_TEXT || !strchr(value->text, ':') || strchr(value->text, '/') ||
	    !address_range_parse(value->text, &range)) {
		return wrong("an address such as 2001:db8::1", value, err);
	}
	etw_payload_bytes(out, range.bytes, 16);
	return true;
}

static bool put_guid(const struct etw_json_value *value, struct etw_payload *out,
		     struct etw_error *err)
{
	struct etw_guid guid;

	if (value->type != JSON_TEXT || !etw_guid_parse(value->text, &guid)) {
		return wrong("a GUID such as 01020304-0506-0708-090a-0b0c0d0e0f10", value, err);
	}
	etw_payload_guid(out, &guid);
	return true;
}

/* Returns a pointer to the colon before the port, or to the end of the text. */
static const char *before_port(const char *text)
{
	const char *end = text + strlen(text);
	const char *colon = text[0] == '[' ? strstr(text, "]:") : strchr(text, ':');

	if (text[0] == '[') {
		return colon ? colon + 1 : end;
	}
	return colon && colon == strrchr(text, ':') ? colon : end;
}

/* Writes a SOCKADDR_IN or SOCKADDR_IN6 (ws2def.h, ws2ipdef.h). Members that the text does not
 * contain are 0. */
static bool put_socket_address(const struct etw_json_value *value, struct etw_payload *out,
			       struct etw_error *err)
{
	enum { FAMILY_IP4 = 2, FAMILY_IP6 = 23 };
	const char *text = value->type == JSON_TEXT ? value->text : "";
	const char *colon = before_port(text);
	size_t bracket = text[0] == '[' && colon[-1] == ']', size = (size_t)(colon - text);
	char address[48];
	struct address_range range;
	uint64_t port = 0;
	bool is_ip6;

	if (size >= sizeof address ||
	    (*colon && (!parse_u64(colon + 1, strlen(colon + 1), &port) || port > UINT16_MAX))) {
		return wrong("an address such as 10.0.0.1:80 or [::1]:80", value, err);
	}
	snprintf(address, sizeof address, "%.*s", (int)(size - 2 * bracket), text + bracket);
	is_ip6 = strchr(address, ':') != NULL;
	if (strchr(address, '/') || (bracket && !is_ip6) || !address_range_parse(address, &range)) {
		return wrong("an address such as 10.0.0.1:80 or [::1]:80", value, err);
	}
	etw_payload_u16(out, is_ip6 ? FAMILY_IP6 : FAMILY_IP4);
	etw_payload_port(out, (uint16_t)port);
	if (is_ip6) {
		etw_payload_zeros(out, 4); /* flow information */
		etw_payload_bytes(out, range.bytes, 16);
		etw_payload_zeros(out, 4); /* scope */
	} else {
		etw_payload_bytes(out, range.bytes + 12, 4);
		etw_payload_zeros(out, 8);
	}
	return true;
}

/* Returns the day of the week (0 is Sunday) by Zeller's congruence. Any year and month is safe. */
static unsigned day_of_week(unsigned year, unsigned month, unsigned day)
{
	static const unsigned shifts[12] = { 0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4 };
	unsigned y = month < 3 && year > 0 ? year - 1 : year;

	if (month < 1 || month > 12) {
		return 0;
	}
	return (y + y / 4 - y / 100 + y / 400 + shifts[month - 1] + day) % 7;
}

static bool put_system_time(const struct etw_json_value *value, struct etw_payload *out,
			    struct etw_error *err)
{
	static const char separators[] = "--T::."; /* after year, month, … second */
	unsigned numbers[7];
	const char *at = value->type == JSON_TEXT ? value->text : "";
	uint64_t number;

	for (unsigned i = 0; i < 7; i++) {
		size_t digits = strspn(at, "0123456789");

		if (!parse_u64(at, digits, &number) || number > UINT16_MAX ||
		    at[digits] != separators[i]) {
			return wrong("a time such as 2021-09-09T14:59:35.799", value, err);
		}
		numbers[i] = (unsigned)number;
		at += digits + 1;
	}
	etw_payload_u16(out, (uint16_t)numbers[0]);
	etw_payload_u16(out, (uint16_t)numbers[1]);
	etw_payload_u16(out, (uint16_t)day_of_week(numbers[0], numbers[1], numbers[2]));
	for (unsigned i = 2; i < 7; i++) {
		etw_payload_u16(out, (uint16_t)numbers[i]);
	}
	return true;
}

static bool put_hex(const struct etw_json_value *value, struct etw_payload *out,
		    struct etw_error *err)
{
	bool right = value->type == JSON_TEXT && value->size % 2 == 0 &&
		     strspn(value->text, "0123456789abcdefABCDEF") == value->size;

	if (!right) {
		return wrong("bytes in hexadecimal, two digits each", value, err);
	}
	for (size_t i = 0; i < value->size; i += 2) {
		char digits[5] = { '0', 'x', value->text[i], value->text[i + 1], '\0' };
		uint64_t byte = 0;

		parse_u64(digits, 4, &byte);
		etw_payload_u8(out, (uint8_t)byte);
	}
	return true;
}

static bool put_sid(const struct etw_field *field, const struct etw_json_value *value,
		    struct etw_payload *out, struct etw_error *err)
{
	struct etw_payload sid;
	bool right;

	if (value->type == JSON_NULL && field->type == ETW_FIELD_KERNEL_SID) {
		return true;
	}
	etw_payload_init(&sid, out->pointer_size);
	etw_payload_sid(&sid, value->type == JSON_TEXT ? value->text : "");
	right = !sid.failed && etw_sid_size(sid.bytes, sid.size) == sid.size;
	if (right) {
		etw_payload_bytes(out, sid.bytes, sid.size);
	}
	etw_payload_done(&sid);
	return right || wrong("a SID such as S-1-5-18", value, err);
}

/* ---- any value ---- */

static bool put_text(const struct etw_field *field, const struct etw_json_value *value,
		     struct etw_payload *out, struct etw_error *err)
{
	if (value->type != JSON_TEXT) {
		return wrong("a text", value, err);
	}
	if (etw_field_unit_size(field) == 2) {
		etw_payload_utf16(out, value->text, value->size, SIZE_MAX);
	} else {
		etw_payload_bytes(out, value->text, value->size);
	}
	return true;
}

bool etw_encode_value(const struct etw_field *field, const struct etw_json_value *value,
		      struct etw_payload *out, struct etw_error *err)
{
	if (field->type <= ETW_FIELD_PORT) {
		return put_integer(field, value, out, err);
	}
	if (etw_field_is_text(field)) {
		return put_text(field, value, out, err);
	}
	switch (field->type) {
	case ETW_FIELD_FLOAT:
	case ETW_FIELD_DOUBLE:
		return put_floating(field, value, out, err);
	case ETW_FIELD_IP4:
		return put_ip4(value, out, err);
	case ETW_FIELD_IP6:
		return put_ip6(value, out, err);
	case ETW_FIELD_GUID:
		return put_guid(value, out, err);
	case ETW_FIELD_SYSTEMTIME:
		return put_system_time(value, out, err);
	case ETW_FIELD_SID:
	case ETW_FIELD_KERNEL_SID:
		return put_sid(field, value, out, err);
	case ETW_FIELD_BINARY:
	case ETW_FIELD_BINARY16:
	case ETW_FIELD_BINARY32:
		if (field->form == ETW_FIELD_FORM_IP6 && value->type == JSON_TEXT &&
		    strchr(value->text, ':')) {
			return put_ip6(value, out, err);
		}
		if (field->form == ETW_FIELD_FORM_SOCKADDR && value->type == JSON_TEXT &&
		    strpbrk(value->text, ".:")) {
			return put_socket_address(value, out, err);
		}
		return put_hex(value, out, err);
	default: /* ETW_FIELD_NULL */
		return value->type == JSON_NULL || wrong("null", value, err);
	}
}

bool encode_is_same(const struct etw_field *field, const struct etw_field_slice *element,
		    const struct etw_json_value *value)
{
	struct etw_field one = *field;
	struct etw_text shown = { 0 };
	uint64_t number;
	double real;
	bool same;

	if (field->type <= ETW_FIELD_PORT) {
		return read_integer(field, element->size == 8, value, &number) &&
		       number == etw_field_u64(field, element);
	}
	if (field->type == ETW_FIELD_FLOAT || field->type == ETW_FIELD_DOUBLE) {
		double old = etw_field_double(field, element);

		return value->type == JSON_NULL ? !isfinite(old) :
						  read_floating(field, value, &real) && real == old;
	}
	if (field->type == ETW_FIELD_NULL ||
	    (field->type == ETW_FIELD_KERNEL_SID && element->size == 0)) {
		return value->type == JSON_NULL;
	}
	if (value->type != JSON_TEXT) {
		return false;
	}
	if (!etw_field_is_text_of_chars(field)) {
		one.count_type = ETW_FIELD_SCALAR;
	}
	etw_field_text(&one, element, &shown);
	same = !shown.failed && shown.size == value->size &&
	       (shown.size == 0 || memcmp(shown.data, value->text, shown.size) == 0);
	text_free(&shown);
	return same;
}
