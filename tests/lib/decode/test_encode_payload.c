/* SPDX-License-Identifier: MIT */
/*
 * Payloads made of values: each type, what follows a text, and what does not fit. The bytes that
 * are expected are those of docs/etl-format.md sections 12 and 14.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "base/json.h"
#include "base/text.h"
#include "lib/decode/schema.h"
#include "tests/support/exact_copy.h"

enum { FIELDS_MOST = 8 };

/* A schema under test; ends at a field without a name. */
struct layout {
	struct etw_field fields[FIELDS_MOST];
	struct etw_schema schema;
};

static const struct etw_schema *schema_of(struct layout *layout, const struct etw_field *fields)
{
	uint16_t count = 0;

	while (fields[count].name) {
		layout->fields[count] = fields[count];
		count++;
	}
	layout->schema = (struct etw_schema){ .event = "Test",
					      .fields = layout->fields,
					      .field_count = count };
	layout->schema.first_variable = fields_place(layout->fields, count);
	return &layout->schema;
}

/* Compares the bytes of a payload, or the sentence when bytes is NULL; frees the payload. */
static void assert_result(bool made, struct etw_payload *out, const struct etw_error *err,
			  const void *bytes, size_t size, const char *sentence)
{
	if (bytes) {
		if (!made) {
			fail_msg("%s", err->text);
		}
		assert_int_equal(out->size, size);
		assert_memory_equal(out->bytes, bytes, size);
	} else {
		assert_false(made);
		assert_string_equal(err->text, sentence);
	}
	etw_payload_done(out);
}

/* Makes a payload of values, and compares it. */
static void assert_made(const struct etw_field *fields, uint8_t pointer_size, const char *json,
			const void *bytes, size_t size, const char *sentence)
{
	struct layout layout;
	const struct etw_schema *schema = schema_of(&layout, fields);
	struct json_document document = { 0 };
	const struct etw_json_value *values = json_read(&document, json, strlen(json), NULL);
	struct etw_payload out;
	struct etw_error err = { 0 };
	bool made;

	assert_non_null(values);
	etw_payload_init(&out, pointer_size);
	made = etw_encode_fields(schema, values, 0, &out, &err);
	assert_result(made, &out, &err, bytes, size, sentence);
	json_document_done(&document);
}

/* Changes one field of a payload, and compares it. */
static void assert_changed(const struct etw_field *fields, const void *payload, size_t payload_size,
			   const char *name, const char *json, const void *bytes, size_t size,
			   const char *sentence)
{
	struct layout layout;
	const struct etw_schema *schema = schema_of(&layout, fields);
	struct json_document document = { 0 };
	uint8_t *copy = exact_copy(payload, payload_size);
	const struct etw_record record = { .payload = copy,
					   .payload_size = (uint32_t)payload_size,
					   .pointer_size = 8 };
	struct etw_encode_change change = {
		.index = (unsigned)etw_schema_find_field(schema, name),
		.value = json_read(&document, json, strlen(json), NULL),
	};
	struct etw_payload out;
	struct etw_error err = { 0 };
	bool made;

	etw_payload_init(&out, 8);
	made = etw_encode_changed(schema, &record, &change, 1, NULL, NULL, &out, &err);
	assert_result(made, &out, &err, bytes, size, sentence);
	json_document_done(&document);
	free(copy);
}

#define BYTES(text)    text, sizeof(text) - 1, NULL
#define REFUSED(words) NULL, 0, words
#define ONE(...)                              \
	(const struct etw_field[])            \
	{                                     \
		{ .name = "F", __VA_ARGS__ }, \
		{                             \
			.name = NULL          \
		}                             \
	}

static void values_become_their_bytes(void **state)
{
	(void)state;
	assert_made(ONE(.type = ETW_FIELD_I16), 8, "{\"F\": -2}", BYTES("\xfe\xff"));
	assert_made(ONE(.type = ETW_FIELD_U64), 8, "{\"F\": 18446744073709551615}",
		    BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"));
	assert_made(ONE(.type = ETW_FIELD_U32), 8, "{\"F\": \"0x1020\"}", BYTES("\x20\x10\0\0"));
	assert_made(ONE(.type = ETW_FIELD_POINTER), 4, "{\"F\": 258}", BYTES("\x02\x01\0\0"));
	assert_made(ONE(.type = ETW_FIELD_POINTER), 8, "{\"F\": 258}",
		    BYTES("\x02\x01\0\0\0\0\0\0"));
	assert_made(ONE(.type = ETW_FIELD_PORT), 8, "{\"F\": 443}", BYTES("\x01\xbb"));
	assert_made(ONE(.type = ETW_FIELD_BOOL32), 8, "{\"F\": true}", BYTES("\x01\0\0\0"));
	assert_made(ONE(.type = ETW_FIELD_FLOAT), 8, "{\"F\": 0.5}", BYTES("\0\0\0\x3f"));
	assert_made(ONE(.type = ETW_FIELD_IP4), 8, "{\"F\": \"10.0.0.255\"}",
		    BYTES("\x0a\0\0\xff"));
	assert_made(ONE(.type = ETW_FIELD_IP6), 8, "{\"F\": \"2001:db8::ffff\"}",
		    BYTES("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\xff\xff"));
	assert_made(ONE(.type = ETW_FIELD_GUID), 8,
		    "{\"F\": \"01020304-0506-0708-090a-0b0c0d0e0f10\"}",
		    BYTES("\x04\x03\x02\x01\x06\x05\x08\x07\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"));
	/* A Thursday: its number is 4. */
	assert_made(ONE(.type = ETW_FIELD_SYSTEMTIME), 8, "{\"F\": \"2021-09-09T14:59:35.799\"}",
		    BYTES("\xe5\x07\x09\0\x04\0\x09\0\x0e\0\x3b\0\x23\0\x1f\x03"));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-1-5-18\"}",
		    BYTES("\x01\x01\0\0\0\0\0\x05\x12\0\0\0"));
	/* The authority has six bytes in network order, each number behind it four. */
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-1-281474976710655-4294967295-1\"}",
		    BYTES("\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0"));
	assert_made(ONE(.type = ETW_FIELD_KERNEL_SID), 8, "{\"F\": null}", BYTES("\0\0\0\0"));
	assert_made(ONE(.type = ETW_FIELD_BINARY16), 8, "{\"F\": \"deAD\"}",
		    BYTES("\x02\0\xde\xad"));
}

/* ws2def.h, ws2ipdef.h. What the text does not say, is 0. */
static void socket_addresses_become_their_structures(void **state)
{
#define ADDRESS(...) ONE(.type = ETW_FIELD_BINARY, .form = ETW_FIELD_FORM_SOCKADDR, __VA_ARGS__)
#define FOUND(text)                                                                             \
	"{\"F\": \"" text "\"}",                                                                \
		REFUSED("F: expected an address such as 10.0.0.1:80 or [::1]:80, found \"" text \
			"\"")

	(void)state;
	assert_made(ADDRESS(.count = 0), 8, "{\"F\": \"10.0.0.1:8080\"}",
		    BYTES("\x02\0\x1f\x90\x0a\0\0\x01\0\0\0\0\0\0\0\0"));
	assert_made(ADDRESS(.count = 0), 8, "{\"F\": \"10.0.0.1\"}",
		    BYTES("\x02\0\0\0\x0a\0\0\x01\0\0\0\0\0\0\0\0"));
	assert_made(ADDRESS(.count = 0), 8, "{\"F\": \"[fe80::2]:53\"}",
		    BYTES("\x17\0\0\x35\0\0\0\0\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0"));
	assert_made(ADDRESS(.count = 0), 8, "{\"F\": \"::1\"}",
		    BYTES("\x17\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0"));
	/* A SOCKADDR_STORAGE is larger, and other families are bytes. */
	assert_made(ADDRESS(.length_type = ETW_FIELD_LENGTH_FIXED, .length = 18), 8,
		    "{\"F\": \"10.0.0.1\"}", BYTES("\x02\0\0\0\x0a\0\0\x01\0\0\0\0\0\0\0\0\0\0"));
	assert_made(ADDRESS(.count = 0), 8, "{\"F\": \"01006162\"}", BYTES("\x01\0\x61\x62"));
	assert_made(ADDRESS(.count = 0), 8, FOUND("10.0.0.1:"));
	assert_made(ADDRESS(.count = 0), 8, FOUND("10.0.0.1:65536"));
	assert_made(ADDRESS(.count = 0), 8, FOUND("[10.0.0.1]:80"));
	assert_made(ADDRESS(.count = 0), 8, FOUND("[::1"));
	assert_made(ADDRESS(.count = 0), 8, FOUND("fe80::/10"));
#undef ADDRESS
#undef FOUND
}

/* As a command line gives them. */
static void numbers_may_be_written_as_texts(void **state)
{
	(void)state;
	assert_made(ONE(.type = ETW_FIELD_BOOL8), 8, "{\"F\": \"true\"}", BYTES("\x01"));
	assert_made(ONE(.type = ETW_FIELD_BOOL16), 8, "{\"F\": \"false\"}", BYTES("\0\0"));
	assert_made(ONE(.type = ETW_FIELD_BOOL32), 8, "{\"F\": 258}", BYTES("\x02\x01\0\0"));
	assert_made(ONE(.type = ETW_FIELD_I64), 8, "{\"F\": \"-9223372036854775808\"}",
		    BYTES("\0\0\0\0\0\0\0\x80"));
	assert_made(ONE(.type = ETW_FIELD_DOUBLE), 8, "{\"F\": \"-0.5\"}",
		    BYTES("\0\0\0\0\0\0\xe0\xbf"));
	assert_made(ONE(.type = ETW_FIELD_DOUBLE), 8, "{\"F\": \"-inf\"}",
		    BYTES("\0\0\0\0\0\0\xf0\xff"));
	assert_made(ONE(.type = ETW_FIELD_FLOAT), 8, "{\"F\": \"inf\"}", BYTES("\0\0\x80\x7f"));
	/* The highest number of single precision, exactly and as it is shown. */
	assert_made(ONE(.type = ETW_FIELD_FLOAT), 8, "{\"F\": 3.4028234663852886e+38}",
		    BYTES("\xff\xff\x7f\x7f"));
	assert_made(ONE(.type = ETW_FIELD_FLOAT), 8, "{\"F\": \"-3.4028235e+38\"}",
		    BYTES("\xff\xff\x7f\xff"));
}

/* A dump has null for what JSON cannot say; it becomes a NaN. */
static void null_is_no_number_and_no_sid(void **state)
{
	struct layout layout;
	const struct etw_schema *schema = schema_of(&layout, ONE(.type = ETW_FIELD_DOUBLE));
	struct etw_field_slice slice = { .size = 8 };
	struct json_document document = { 0 };
	const struct etw_json_value *values = json_read(&document, "{\"F\": null}", 11, NULL);
	struct etw_payload out;
	struct etw_error err;

	(void)state;
	etw_payload_init(&out, 8);
	assert_true(etw_encode_fields(schema, values, 0, &out, &err));
	slice.at = out.bytes;
	assert_true(isnan(etw_field_double(&schema->fields[0], &slice)));
	etw_payload_done(&out);
	json_document_done(&document);
	/* What is infinite stays so, since its dump has null, too. */
	assert_changed(ONE(.type = ETW_FIELD_DOUBLE), "\0\0\0\0\0\0\xf0\x7f", 8, "F", "null",
		       BYTES("\0\0\0\0\0\0\xf0\x7f"));
	assert_made(ONE(.type = ETW_FIELD_NULL), 8, "{\"F\": null}", BYTES(""));
	assert_made(ONE(.type = ETW_FIELD_NULL), 8, "{\"F\": 0}",
		    REFUSED("F: expected null, found 0"));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": null}",
		    REFUSED("F: expected a SID such as S-1-5-18, found null"));
}

/* A TOKEN_USER in front of it: two pointers, which a SID that is changed keeps. */
static void a_changed_sid_keeps_what_the_kernel_writes_in_front(void **state)
{
	static const char system[] = "\x10\x32\x54\x76\x98\xba\xdc\xfe\x07\0\0\0\0\0\0\0"
				     "\x01\x01\0\0\0\0\0\x05\x12\0\0\0";

	(void)state;
	assert_changed(ONE(.type = ETW_FIELD_KERNEL_SID), system, sizeof system - 1, "F",
		       "\"S-1-5-19\"",
		       BYTES("\x10\x32\x54\x76\x98\xba\xdc\xfe\x07\0\0\0\0\0\0\0"
			     "\x01\x01\0\0\0\0\0\x05\x13\0\0\0"));
	assert_changed(ONE(.type = ETW_FIELD_KERNEL_SID), system, sizeof system - 1, "F", "null",
		       BYTES("\0\0\0\0"));
	/* Where none was, there must be something that is not 0. */
	assert_changed(ONE(.type = ETW_FIELD_KERNEL_SID), "\0\0\0\0", 4, "F", "\"S-1-5-19\"",
		       BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0"
			     "\x01\x01\0\0\0\0\0\x05\x13\0\0\0"));
	assert_changed(ONE(.type = ETW_FIELD_KERNEL_SID), "\0\0\0\0", 4, "F", "null",
		       BYTES("\0\0\0\0"));
}

static void texts_have_the_end_that_their_type_has(void **state)
{
	(void)state;
	assert_made(ONE(.type = ETW_FIELD_WSTRING), 8, "{\"F\": \"\\u00e4b\"}",
		    BYTES("\xe4\0b\0\0\0"));
	assert_made(ONE(.type = ETW_FIELD_ASTRING), 8, "{\"F\": \"ab\"}", BYTES("ab\0"));
	assert_made(ONE(.type = ETW_FIELD_WCOUNTED), 8, "{\"F\": \"ab\"}", BYTES("\x04\0a\0b\0"));
	assert_made(ONE(.type = ETW_FIELD_WCOUNTED_BE), 8, "{\"F\": \"ab\"}",
		    BYTES("\0\x04"
			  "a\0b\0"));
	assert_made(ONE(.type = ETW_FIELD_ACOUNTED), 8, "{\"F\": \"\"}", BYTES("\0\0"));
	assert_made(ONE(.type = ETW_FIELD_WCHAR, .count_type = ETW_FIELD_COUNT_FIXED, .count = 3),
		    8, "{\"F\": \"ab\"}", BYTES("a\0b\0\0\0"));
	assert_made(ONE(.type = ETW_FIELD_ACHAR, .count_type = ETW_FIELD_COUNT_PREFIX), 8,
		    "{\"F\": \"ab\"}", BYTES("\x02\0ab"));
	assert_made(ONE(.type = ETW_FIELD_ASTRING, .length_type = ETW_FIELD_LENGTH_FIXED,
			.length = 2),
		    8, "{\"F\": \"ab\"}", BYTES("ab"));
	assert_made(ONE(.type = ETW_FIELD_WSTRING, .count_type = ETW_FIELD_COUNT_PREFIX), 8,
		    "{\"F\": [\"a\", \"\"]}", BYTES("\x02\0a\0\0\0\0\0"));
}

static void what_does_not_fit_is_refused_with_a_sentence(void **state)
{
	(void)state;
	assert_made(ONE(.type = ETW_FIELD_U8), 8, "{\"F\": 256}",
		    REFUSED("F: expected a whole number from 0 to 255, found 256"));
	assert_made(ONE(.type = ETW_FIELD_I8), 8, "{\"F\": -129}",
		    REFUSED("F: expected a whole number from -128 to 127, found -129"));
	assert_made(ONE(.type = ETW_FIELD_U32), 8, "{\"F\": 1.5}",
		    REFUSED("F: expected a whole number from 0 to 4294967295, found 1.5"));
	assert_made(ONE(.type = ETW_FIELD_POINTER), 4, "{\"F\": 4294967296}",
		    REFUSED("F: expected a whole number from 0 to 4294967295, found 4294967296"));
	assert_made(ONE(.type = ETW_FIELD_BOOL8), 8, "{\"F\": \"yes\"}",
		    REFUSED("F: expected true or false, found \"yes\""));
	assert_made(ONE(.type = ETW_FIELD_FLOAT), 8, "{\"F\": 1e39}",
		    REFUSED("F: expected a number of single precision, found 1e39"));
	assert_made(ONE(.type = ETW_FIELD_IP4), 8, "{\"F\": \"10.0.0.0/8\"}",
		    REFUSED("F: expected an address such as 10.0.0.1, found \"10.0.0.0/8\""));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-1\"}",
		    REFUSED("F: expected a SID such as S-1-5-18, found \"S-1\""));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"18\"}",
		    REFUSED("F: expected a SID such as S-1-5-18, found \"18\""));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-1-5-4294967296\"}",
		    REFUSED("F: expected a SID such as S-1-5-18, found \"S-1-5-4294967296\""));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-257-5-18\"}",
		    REFUSED("F: expected a SID such as S-1-5-18, found \"S-257-5-18\""));
	assert_made(
		ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-1-281474976710656-18\"}",
		REFUSED("F: expected a SID such as S-1-5-18, found \"S-1-281474976710656-18\""));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-2-5-18\"}",
		    REFUSED("F: expected a SID such as S-1-5-18, found \"S-2-5-18\""));
	assert_made(ONE(.type = ETW_FIELD_SID), 8, "{\"F\": \"S-1-5-18-\"}",
		    REFUSED("F: expected a SID such as S-1-5-18, found \"S-1-5-18-\""));
	assert_made(ONE(.type = ETW_FIELD_SID), 8,
		    "{\"F\": \"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16\"}",
		    REFUSED("F: expected a SID such as S-1-5-18, found "
			    "\"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16\""));
	assert_made(ONE(.type = ETW_FIELD_BINARY), 8, "{\"F\": \"abc\"}",
		    REFUSED("F: expected bytes in hexadecimal, two digits each, found \"abc\""));
	assert_made(ONE(.type = ETW_FIELD_I64), 8, "{\"F\": true}",
		    REFUSED("F: expected a whole number from -9223372036854775808 to "
			    "9223372036854775807, found true"));
	assert_made(ONE(.type = ETW_FIELD_U64), 8, "{\"F\": 18446744073709551616}",
		    REFUSED("F: expected a whole number from 0 to 18446744073709551615, found "
			    "18446744073709551616"));
	assert_made(ONE(.type = ETW_FIELD_U8), 8, "{\"F\": -1}",
		    REFUSED("F: expected a whole number from 0 to 255, found -1"));
	assert_made(ONE(.type = ETW_FIELD_PORT), 8, "{\"F\": 65536}",
		    REFUSED("F: expected a whole number from 0 to 65535, found 65536"));
	assert_made(ONE(.type = ETW_FIELD_DOUBLE), 8, "{\"F\": 1e400}",
		    REFUSED("F: expected a number of double precision, found 1e400"));
	assert_made(ONE(.type = ETW_FIELD_DOUBLE), 8, "{\"F\": \"-1e400\"}",
		    REFUSED("F: expected a number of double precision, found \"-1e400\""));
	assert_made(ONE(.type = ETW_FIELD_FLOAT), 8, "{\"F\": \"1e39\"}",
		    REFUSED("F: expected a number of single precision, found \"1e39\""));
	assert_made(ONE(.type = ETW_FIELD_DOUBLE), 8, "{\"F\": \"\"}",
		    REFUSED("F: expected a number of double precision, found \"\""));
	assert_made(ONE(.type = ETW_FIELD_DOUBLE), 8, "{\"F\": \"1.5 \"}",
		    REFUSED("F: expected a number of double precision, found \"1.5 \""));
	assert_made(ONE(.type = ETW_FIELD_DOUBLE), 8, "{\"F\": [1]}",
		    REFUSED("F: expected a number of double precision, found a list"));
	assert_made(ONE(.type = ETW_FIELD_IP4), 8, "{\"F\": \"::1\"}",
		    REFUSED("F: expected an address such as 10.0.0.1, found \"::1\""));
	assert_made(ONE(.type = ETW_FIELD_IP4), 8, "{\"F\": \"10.0.0\"}",
		    REFUSED("F: expected an address such as 10.0.0.1, found \"10.0.0\""));
	assert_made(ONE(.type = ETW_FIELD_IP6), 8, "{\"F\": \"10.0.0.1\"}",
		    REFUSED("F: expected an address such as 2001:db8::1, found \"10.0.0.1\""));
	assert_made(ONE(.type = ETW_FIELD_IP6), 8, "{\"F\": \"fe80::/10\"}",
		    REFUSED("F: expected an address such as 2001:db8::1, found \"fe80::/10\""));
	assert_made(ONE(.type = ETW_FIELD_IP6), 8, "{\"F\": 1}",
		    REFUSED("F: expected an address such as 2001:db8::1, found 1"));
	assert_made(ONE(.type = ETW_FIELD_GUID), 8, "{\"F\": \"01020304\"}",
		    REFUSED("F: expected a GUID such as 01020304-0506-0708-090a-0b0c0d0e0f10, "
			    "found \"01020304\""));
	assert_made(ONE(.type = ETW_FIELD_SYSTEMTIME), 8, "{\"F\": \"2021-09-09T14:59:35\"}",
		    REFUSED("F: expected a time such as 2021-09-09T14:59:35.799, found "
			    "\"2021-09-09T14:59:35\""));
	assert_made(ONE(.type = ETW_FIELD_SYSTEMTIME), 8, "{\"F\": \"65536-01-01T00:00:00.0\"}",
		    REFUSED("F: expected a time such as 2021-09-09T14:59:35.799, found "
			    "\"65536-01-01T00:00:00.0\""));
	assert_made(ONE(.type = ETW_FIELD_SYSTEMTIME), 8, "{\"F\": \"2021-09-09T14:59:35.799Z\"}",
		    REFUSED("F: expected a time such as 2021-09-09T14:59:35.799, found "
			    "\"2021-09-09T14:59:35.799Z\""));
	assert_made(ONE(.type = ETW_FIELD_BINARY16), 8, "{\"F\": \"0x12\"}",
		    REFUSED("F: expected bytes in hexadecimal, two digits each, found \"0x12\""));
	assert_made(
		ONE(.type = ETW_FIELD_BINARY, .length_type = ETW_FIELD_LENGTH_FIXED, .length = 3),
		8, "{\"F\": \"aabb\"}", REFUSED("F: it has 2 bytes, but the place for it has 3"));
	assert_made(ONE(.type = ETW_FIELD_ACHAR, .count_type = ETW_FIELD_COUNT_FIXED, .count = 2),
		    8, "{\"F\": \"abc\"}",
		    REFUSED("F: it has 3 bytes of UTF-8, but the place for it has 2"));
	assert_made(ONE(.type = ETW_FIELD_WSTRING), 8, "{\"F\": 5}",
		    REFUSED("F: expected a text, found 5"));
	assert_made(ONE(.type = ETW_FIELD_WSTRING), 8, "{\"F\": \"a\\u0000b\"}",
		    REFUSED("F: a text that ends at a NUL cannot contain one"));
	assert_made(ONE(.type = ETW_FIELD_WCHAR, .count_type = ETW_FIELD_COUNT_FIXED, .count = 2),
		    8, "{\"F\": \"abc\"}",
		    REFUSED("F: it has 3 UTF-16 units, but the place for it has 2"));
	assert_made(ONE(.type = ETW_FIELD_U8, .count_type = ETW_FIELD_COUNT_FIXED, .count = 2), 8,
		    "{\"F\": [1]}", REFUSED("F: expected a list of 2 elements, found 1"));
	assert_made(ONE(.type = ETW_FIELD_U8, .count_type = ETW_FIELD_COUNT_FIXED, .count = 2), 8,
		    "{\"F\": 1}", REFUSED("F: expected a list, found a number"));
	assert_made(ONE(.type = ETW_FIELD_U8), 8, "{\"F\": 1, \"G\": 1}",
		    REFUSED("the event has no field G"));
	assert_made(ONE(.type = ETW_FIELD_U8), 8, "[1]",
		    REFUSED("expected an object, found a list"));
	assert_made(ONE(.type = ETW_FIELD_U8), 8, "{\"F\": 1, \"_rest\": 65536}",
		    REFUSED("_rest: expected a whole number from 0 to 65535"));
	assert_made(ONE(.type = ETW_FIELD_U8), 8, "{\"F\": 1, \"_rest\": \"1\"}",
		    REFUSED("_rest: expected a whole number from 0 to 65535"));
}

static const struct etw_field counted_text[] = {
	{ .name = "Length", .type = ETW_FIELD_U8 },
	{ .name = "Name",
	  .type = ETW_FIELD_WSTRING,
	  .length_type = ETW_FIELD_LENGTH_FIELD,
	  .length = 0 },
	{ .name = "After", .type = ETW_FIELD_U8 },
	{ .name = NULL },
};

static void a_length_follows_its_text(void **state)
{
	(void)state;
	assert_changed(counted_text,
		       "\x02"
		       "a\0b\0!",
		       6, "Name", "\"xyz\"",
		       BYTES("\x03"
			     "x\0y\0z\0!"));
	/* A writer that counts the terminator, as before. */
	assert_changed(counted_text,
		       "\x02"
		       "a\0\0\0!",
		       6, "Name", "\"xyz\"",
		       BYTES("\x04"
			     "x\0y\0z\0\0\0!"));
	assert_changed(counted_text,
		       "\x02"
		       "a\0b\0!",
		       6, "Length", "1",
		       REFUSED("Name: Length gives the length of this field; change this field, "
			       "and Length follows"));
	assert_changed(counted_text,
		       "\x02"
		       "a\0b\0!",
		       6, "After", "35",
		       BYTES("\x02"
			     "a\0b\0#"));
	assert_made(counted_text, 8, "{\"Length\": 0, \"Name\": \"ab\", \"After\": 33}",
		    BYTES("\x02"
			  "a\0b\0!"));
	assert_made(counted_text, 8, "{\"Length\": 3, \"Name\": \"ab\", \"After\": 33}",
		    BYTES("\x03"
			  "a\0b\0\0\0!"));
}

static void lengths_of_other_forms_follow_too(void **state)
{
	static const struct etw_field big_endian[] = {
		{ .name = "Length", .type = ETW_FIELD_PORT },
		{ .name = "Name",
		  .type = ETW_FIELD_ASTRING,
		  .length_type = ETW_FIELD_LENGTH_FIELD,
		  .length = 0 },
		{ .name = NULL },
	};
	static const struct etw_field list[] = {
		{ .name = "Length", .type = ETW_FIELD_U16 },
		{ .name = "Names",
		  .type = ETW_FIELD_WSTRING,
		  .count_type = ETW_FIELD_COUNT_FIXED,
		  .count = 2,
		  .length_type = ETW_FIELD_LENGTH_FIELD,
		  .length = 0 },
		{ .name = NULL },
	};

	(void)state;
	assert_changed(big_endian,
		       "\0\x02"
		       "ab",
		       4, "Name", "\"xyz\"",
		       BYTES("\0\x03"
			     "xyz"));
	/* All texts of a list have the length that is given. */
	assert_made(list, 8, "{\"Length\": 2, \"Names\": [\"a\", \"bc\"]}",
		    BYTES("\x02\0a\0\0\0b\0c\0"));
	assert_made(list, 8, "{\"Length\": 2, \"Names\": [\"a\", \"bcd\"]}",
		    REFUSED("Names: it has 3 UTF-16 units, but the place for it has 2"));
	assert_changed(list, "\x01\0a\0b\0", 6, "Length", "2",
		       REFUSED("Names: Length gives the length of this field; change this field, "
			       "and Length follows"));
	assert_changed(list, "\x01\0a\0b\0", 6, "Names", "[\"x\", \"y\"]", BYTES("\x01\0x\0y\0"));
}

static void a_length_that_is_too_short_for_its_text_is_refused(void **state)
{
	char json[400] = "\"", *at = json + 1;

	(void)state;
	memset(at, 'a', 256);
	at[256] = '"';
	at[257] = '\0';
	assert_changed(counted_text,
		       "\x01"
		       "a\0!",
		       4, "Name", json,
		       REFUSED("Name: its length of 256 does not fit into Length"));
}

static void two_lists_with_one_count_must_change_together(void **state)
{
	static const struct etw_field fields[] = {
		{ .name = "Count", .type = ETW_FIELD_U16 },
		{ .name = "A",
		  .type = ETW_FIELD_U8,
		  .count_type = ETW_FIELD_COUNT_FIELD,
		  .count = 0 },
		{ .name = "B",
		  .type = ETW_FIELD_U8,
		  .count_type = ETW_FIELD_COUNT_FIELD,
		  .count = 0 },
		{ .name = NULL },
	};

	(void)state;
	assert_made(fields, 8, "{\"Count\": 0, \"A\": [1, 2], \"B\": [3, 4]}",
		    BYTES("\x02\0\x01\x02\x03\x04"));
	assert_made(fields, 8, "{\"Count\": 2, \"A\": [1, 2], \"B\": [3]}",
		    REFUSED("B: Count gives the length of this field and of A, so both must change "
			    "alike"));
	assert_changed(fields, "\x01\0\x07\x08", 4, "A", "[1, 2]",
		       REFUSED("B: Count gives the length of this field; change this field, and "
			       "Count follows"));
}

static const struct etw_field structures[] = {
	{ .name = "Items",
	  .type = ETW_FIELD_STRUCT,
	  .count_type = ETW_FIELD_COUNT_PREFIX,
	  .span = 2 },
	{ .name = "Size", .type = ETW_FIELD_U8 },
	{ .name = "Data",
	  .type = ETW_FIELD_BINARY,
	  .length_type = ETW_FIELD_LENGTH_FIELD,
	  .length = 1 },
	{ .name = "After", .type = ETW_FIELD_ASTRING },
	{ .name = NULL },
};

static void each_element_has_its_own_lengths(void **state)
{
	(void)state;
	assert_made(structures, 8,
		    "{\"Items\": [{\"Size\": 0, \"Data\": \"aabb\"}, {\"Size\": 9, \"Data\": "
		    "\"\"}], \"After\": \"x\"}",
		    BYTES("\x02\0\x02\xaa\xbb\0x\0"));
	assert_changed(structures, "\x01\0\x01\xaax\0", 6, "After", "\"yz\"",
		       BYTES("\x01\0\x01\xaayz\0"));
	assert_made(structures, 8, "{\"Items\": [{\"Size\": 0}], \"After\": \"x\"}",
		    REFUSED("Items: its member Data is missing"));
	assert_made(structures, 8, "{\"Items\": {\"Size\": 0, \"Data\": \"\"}, \"After\": \"x\"}",
		    REFUSED("Items: expected a list of objects, found an object"));
	assert_made(structures, 8, "{\"Items\": [\"\"], \"After\": \"x\"}",
		    REFUSED("Items: expected an object, found a text"));
	assert_made(structures, 8,
		    "{\"Items\": [{\"Size\": 256, \"Data\": \"\"}], \"After\": \"x\"}",
		    REFUSED("Items: Size: expected a whole number from 0 to 255, found 256"));
}

static void a_payload_that_ends_early_ends_there_again(void **state)
{
	static const struct etw_field fields[] = {
		{ .name = "A", .type = ETW_FIELD_ASTRING },
		{ .name = "B", .type = ETW_FIELD_U32 },
		{ .name = "C", .type = ETW_FIELD_U32 },
		{ .name = NULL },
	};

	(void)state;
	assert_changed(fields, "ab\0\x01\x02", 5, "A", "\"xyz\"", BYTES("xyz\0\x01\x02"));
	assert_changed(fields, "ab\0\x01\x02", 5, "B", "1",
		       REFUSED("the payload ends before or in B"));
	assert_changed(fields, "ab", 2, "A", "\"xyz\"", BYTES("xyz"));
	assert_made(fields, 8, "{\"A\": \"ab\", \"B\": 1}", BYTES("ab\0\x01\0\0\0"));
	assert_made(fields, 8, "{\"A\": \"ab\", \"C\": 1}",
		    REFUSED("B is missing, but C, which comes after it, is there"));
	assert_made(fields, 8, "{\"A\": \"ab\", \"B\": 1, \"C\": 2, \"_rest\": 2}",
		    BYTES("ab\0\x01\0\0\0\x02\0\0\0\0\0"));
}

/* The second structure has no bytes, and the reader then counts none (found by fuzzing). */
static void structures_to_the_end_of_the_payload_are_copied(void **state)
{
	static const struct etw_field fields[] = {
		{ .name = "All",
		  .type = ETW_FIELD_STRUCT,
		  .count_type = ETW_FIELD_COUNT_REST,
		  .span = 1 },
		{ .name = "Numbers", .type = ETW_FIELD_U32, .count_type = ETW_FIELD_COUNT_REST },
		{ .name = NULL },
	};
	struct layout layout;
	const struct etw_schema *schema = schema_of(&layout, fields);
	const struct etw_record record = { .payload = (const uint8_t *)"\x01\x02\x03\x04\x05\x06",
					   .payload_size = 6,
					   .pointer_size = 8 };
	struct etw_payload out;
	struct etw_error err = { 0 };

	(void)state;
	etw_payload_init(&out, 8);
	assert_true(etw_encode_changed(schema, &record, NULL, 0, NULL, NULL, &out, &err));
	assert_int_equal(out.size, 6);
	assert_memory_equal(out.bytes, record.payload, 6);
	etw_payload_done(&out);
}

static void a_payload_is_no_longer_than_an_event_can_be(void **state)
{
	struct etw_text json = { 0 };

	(void)state;
	text_add_string(&json, "{\"F\": \"");
	for (unsigned i = 0; i < 65536; i++) {
		text_add_char(&json, 'a');
	}
	text_add_string(&json, "\"}");
	assert_made(ONE(.type = ETW_FIELD_ASTRING), 8, json.data,
		    REFUSED("the payload would have 65537 bytes, but an event has at most 65535"));
	assert_made(ONE(.type = ETW_FIELD_ACOUNTED), 8, json.data,
		    REFUSED("F: it has 65536 bytes, but its count cannot exceed 65535"));
	assert_made(ONE(.type = ETW_FIELD_ACHAR, .count_type = ETW_FIELD_COUNT_PREFIX), 8,
		    json.data,
		    REFUSED("F: it has 65536 characters, but its count cannot exceed 65535"));
	text_clear(&json);
	text_add_string(&json, "{\"F\": [0");
	for (unsigned i = 1; i < 65536; i++) {
		text_add_string(&json, ",0");
	}
	text_add_string(&json, "]}");
	assert_made(ONE(.type = ETW_FIELD_U8, .count_type = ETW_FIELD_COUNT_PREFIX), 8, json.data,
		    REFUSED("F: a list of 65536 elements is too long"));
	text_free(&json);
}

/* Replaces every text by one of the same length in X, and every SID by zeros. */
static enum etw_encode_answer cross_out(void *context, const struct etw_field *field,
					const struct etw_field_slice *element,
					struct etw_text *new_value)
{
	(void)context;
	if (element->cut) {
		for (uint32_t i = 0; i < element->size; i++) {
			text_add_char(new_value, 'c');
		}
		return ETW_ENCODE_BYTES;
	}
	if (field->type == ETW_FIELD_SID) {
		for (uint32_t i = 0; i < element->size; i++) {
			text_add_char(new_value, '\0');
		}
		return ETW_ENCODE_BYTES;
	}
	if (etw_field_is_text(field)) {
		text_add_string(new_value, "XYZ");
		return ETW_ENCODE_TEXT;
	}
	return ETW_ENCODE_KEEP;
}

static void a_visitor_sees_every_value(void **state)
{
	static const struct etw_field fields[] = {
		{ .name = "Sid", .type = ETW_FIELD_SID },
		{ .name = "In",
		  .type = ETW_FIELD_STRUCT,
		  .count_type = ETW_FIELD_COUNT_PREFIX,
		  .span = 1 },
		{ .name = "Names",
		  .type = ETW_FIELD_ASTRING,
		  .count_type = ETW_FIELD_COUNT_FIXED,
		  .count = 2 },
		{ .name = "Number", .type = ETW_FIELD_U8 },
		{ .name = "Last", .type = ETW_FIELD_ACOUNTED },
		{ .name = NULL },
	};
	static const char payload[] = "\x01\x01\0\0\0\0\0\x05\x12\0\0\0"
				      "\x01\0a\0bcdef\0\x07"
				      "\x02\0hi-rest";
	static const char expected[] = "\0\0\0\0\0\0\0\0\0\0\0\0"
				       "\x01\0XYZ\0XYZ\0\x07"
				       "\x03\0XYZ\0\0\0\0\0";
	static const char cut[] = "\x01\x01\0\0\0\0\0\x05\x12\0\0\0"
				  "\x01\0a\0bcdef\0\x07"
				  "\x20\0hi";
	static const char expected_cut[] = "\0\0\0\0\0\0\0\0\0\0\0\0"
					   "\x01\0XYZ\0XYZ\0\x07"
					   "\x20\0cc";
	struct layout layout;
	const struct etw_schema *schema = schema_of(&layout, fields);
	struct etw_record record = { .payload = (const uint8_t *)payload,
				     .payload_size = sizeof payload - 1,
				     .pointer_size = 8 };
	struct etw_payload out;
	struct etw_error err = { 0 };

	(void)state;
	etw_payload_init(&out, 8);
	assert_true(etw_encode_changed(schema, &record, NULL, 0, cross_out, NULL, &out, &err));
	assert_int_equal(out.size, sizeof expected - 1);
	assert_memory_equal(out.bytes, expected, out.size);
	etw_payload_clear(&out);
	record.payload = (const uint8_t *)cut;
	record.payload_size = sizeof cut - 1;
	assert_true(etw_encode_changed(schema, &record, NULL, 0, cross_out, NULL, &out, &err));
	assert_int_equal(out.size, sizeof expected_cut - 1);
	assert_memory_equal(out.bytes, expected_cut, out.size);
	etw_payload_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_become_their_bytes),
		cmocka_unit_test(socket_addresses_become_their_structures),
		cmocka_unit_test(numbers_may_be_written_as_texts),
		cmocka_unit_test(null_is_no_number_and_no_sid),
		cmocka_unit_test(a_changed_sid_keeps_what_the_kernel_writes_in_front),
		cmocka_unit_test(texts_have_the_end_that_their_type_has),
		cmocka_unit_test(what_does_not_fit_is_refused_with_a_sentence),
		cmocka_unit_test(a_length_follows_its_text),
		cmocka_unit_test(lengths_of_other_forms_follow_too),
		cmocka_unit_test(a_length_that_is_too_short_for_its_text_is_refused),
		cmocka_unit_test(two_lists_with_one_count_must_change_together),
		cmocka_unit_test(each_element_has_its_own_lengths),
		cmocka_unit_test(a_payload_that_ends_early_ends_there_again),
		cmocka_unit_test(structures_to_the_end_of_the_payload_are_copied),
		cmocka_unit_test(a_payload_is_no_longer_than_an_event_can_be),
		cmocka_unit_test(a_visitor_sees_every_value),
	};

	return cmocka_run_group_tests_name("encode_payload", tests, NULL, NULL);
}
