/* SPDX-License-Identifier: MIT */
/*
 * Where fields are and which values they have: with constant offsets, behind strings and counted
 * arrays, in payloads that end too soon.
 */
#include <etw/mirror.h>

#include "lib/decode/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/decode/kernel_class.h"
#include "tests/support/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct etw_schema place(struct etw_field *fields, uint16_t count)
{
	return (struct etw_schema){ .event = "test",
				    .fields = fields,
				    .field_count = count,
				    .first_variable = fields_place(fields, count) };
}

static struct etw_record over(const uint8_t *bytes, size_t size, uint8_t pointer_size)
{
	return (struct etw_record){ .payload = bytes,
				    .payload_size = (uint32_t)size,
				    .pointer_size = pointer_size };
}

static void assert_text(const struct etw_field *field, const struct etw_field_slice *slice,
			const char *expected)
{
	struct etw_text text = { 0 };

	etw_field_text(field, slice, &text);
	assert_string_equal(text.data ? text.data : "", expected);
	text_free(&text);
}

static void offsets_are_constant_up_to_the_first_variable_field(void **state)
{
	struct etw_field fields[] = {
		{ .name = "a", .type = ETW_FIELD_U8 },
		{ .name = "b", .type = ETW_FIELD_POINTER },
		{ .name = "c",
		  .type = ETW_FIELD_WSTRING,
		  .length_type = ETW_FIELD_LENGTH_FIXED,
		  .length = 3 },
		{ .name = "d", .type = ETW_FIELD_ASTRING },
		{ .name = "e", .type = ETW_FIELD_U16 },
	};
	struct etw_schema schema = place(fields, COUNT(fields));

	(void)state;
	assert_int_equal(schema.first_variable, 3);
	assert_int_equal(fields[1].offset[0], 1);
	assert_int_equal(fields[2].offset[0], 5);
	assert_int_equal(fields[2].offset[1], 9);
	assert_int_equal(fields[2].size[1], 6);
	assert_int_equal(fields[3].offset[0], 11);
	assert_int_equal(fields[3].offset[1], 15);
	assert_int_equal(fields[3].size[0], 0);
	assert_int_equal(fields[4].offset[0], ETW_FIELD_OFFSET_VARIES);
	assert_int_equal(fields[4].size[0], 2);
	assert_int_equal(etw_schema_find_field(&schema, "e"), 4);
	assert_int_equal(etw_schema_find_field(&schema, "E"), -1);
	assert_int_equal(etw_schema_find_field(&schema, ""), -1);
}

static void a_schema_without_strings_has_no_variable_field(void **state)
{
	struct etw_field fields[] = { { .name = "a", .type = ETW_FIELD_GUID },
				      { .name = "b", .type = ETW_FIELD_IP6 } };
	struct etw_schema schema = place(fields, COUNT(fields));

	(void)state;
	assert_int_equal(schema.first_variable, 2);
	assert_int_equal(fields[1].offset[1], 16);
	schema = place(fields, 0);
	assert_int_equal(schema.first_variable, 0);
}

static void integers_keep_their_sign_and_order(void **state)
{
	static const struct {
		enum etw_field_type type;
		uint8_t bytes[8];
		uint64_t value;
		const char *text;
	} cases[] = {
		{ ETW_FIELD_I8, { 0xff }, UINT64_MAX, "-1" },
		{ ETW_FIELD_U8, { 0xff }, 0xff, "255" },
		{ ETW_FIELD_I16, { 0xfe, 0xff }, UINT64_MAX - 1, "-2" },
		{ ETW_FIELD_U16, { 0xfe, 0xff }, 0xfffe, "65534" },
		{ ETW_FIELD_I32, { 0, 0, 0, 0x80 }, UINT64_C(0xffffffff80000000), "-2147483648" },
		{ ETW_FIELD_U32, { 0, 0, 0, 0x80 }, 0x80000000, "2147483648" },
		{ ETW_FIELD_I64, { [7] = 0x80 }, UINT64_C(1) << 63, "-9223372036854775808" },
		{ ETW_FIELD_U64, { [7] = 0x80 }, UINT64_C(1) << 63, "9223372036854775808" },
		{ ETW_FIELD_POINTER, { [7] = 0x80 }, UINT64_C(1) << 63, "9223372036854775808" },
		{ ETW_FIELD_BOOL32, { 0, 0, 1, 0 }, 1, "1" },
		{ ETW_FIELD_BOOL32, { 0 }, 0, "0" },
		{ ETW_FIELD_PORT, { 0x01, 0xbb }, 443, "443" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_field field = { .name = "a", .type = (uint8_t)cases[i].type };
		struct etw_schema schema = place(&field, 1);
		struct etw_record record = over(cases[i].bytes, 8, 8);
		struct etw_field_slice slice;

		assert_true(etw_field_is_integer(&field));
		assert_true(etw_field_locate(&schema, 0, &record, &slice));
		assert_true(etw_field_u64(&field, &slice) == cases[i].value);
		assert_text(&field, &slice, cases[i].text);
	}
}

static void fields_behind_strings_are_found_by_walking(void **state)
{
	struct etw_field fields[] = {
		{ .name = "id", .type = ETW_FIELD_U32 },
		{ .name = "sid", .type = ETW_FIELD_KERNEL_SID },
		{ .name = "name", .type = ETW_FIELD_ASTRING },
		{ .name = "line", .type = ETW_FIELD_WSTRING },
		{ .name = "time", .type = ETW_FIELD_U64 },
	};
	struct etw_schema schema = place(fields, COUNT(fields));

	(void)state;
	for (uint8_t pointer_size = 4; pointer_size <= 8; pointer_size += 4) {
		struct etw_field_slice slice, slices[5];
		struct etw_record record;
		struct etw_payload payload;
		uint32_t rest = 0;
		uint8_t *bytes;

		etw_payload_init(&payload, pointer_size);
		etw_payload_u32(&payload, 7);
		etw_payload_user_sid(&payload, "S-1-5-18");
		etw_payload_astring(&payload, "a.exe");
		etw_payload_wstring(&payload, "a -ö");
		etw_payload_u64(&payload, 99);
		etw_payload_zeros(&payload, 3);
		bytes = exact_copy(payload.bytes, payload.size);
		record = over(bytes, payload.size, pointer_size);

		assert_int_equal(etw_fields_walk(&schema, 4, &record, slices, &rest), 5);
		assert_int_equal(rest, 3);
		for (unsigned i = 0; i < COUNT(fields); i++) {
			assert_true(etw_field_locate(&schema, i, &record, &slice));
			assert_ptr_equal(slice.at, slices[i].at);
			assert_int_equal(slice.size, slices[i].size);
			assert_int_equal(slice.count, 1);
		}
		assert_text(&fields[1], &slices[1], "S-1-5-18");
		assert_text(&fields[2], &slices[2], "a.exe");
		assert_text(&fields[3], &slices[3], "a -ö");
		assert_text(&fields[4], &slices[4], "99");
		free(bytes);
		etw_payload_done(&payload);
	}
}

static void a_payload_that_ends_early_leaves_fields_absent_or_cut(void **state)
{
	static const uint8_t bytes[] = { 1, 0, 0, 0, 'a', 'b', 0, 9, 0 };
	struct etw_field fields[] = { { .name = "a", .type = ETW_FIELD_U32 },
				      { .name = "b", .type = ETW_FIELD_ASTRING },
				      { .name = "c", .type = ETW_FIELD_U16 } };
	static const struct {
		size_t size;
		unsigned whole;
		int cut; /* index of the field that is cut; -1: none */
	} cases[] = {
		{ 0, 0, -1 }, { 1, 0, 0 },  { 3, 0, 0 }, { 4, 1, -1 }, { 5, 2, -1 },
		{ 6, 2, -1 }, { 7, 2, -1 }, { 8, 2, 2 }, { 9, 3, -1 },
	};
	struct etw_schema schema = place(fields, COUNT(fields));

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t *copy = exact_copy(bytes, cases[i].size);
		struct etw_record record = over(copy, cases[i].size, 8);
		struct etw_field_slice slices[3], slice;
		uint32_t rest = 77;

		assert_int_equal(etw_fields_walk(&schema, 2, &record, slices, &rest),
				 cases[i].whole);
		assert_int_equal(rest, 0);
		for (unsigned k = 0; k < COUNT(fields); k++) {
			bool whole = k < cases[i].whole;

			assert_int_equal(etw_field_locate(&schema, k, &record, &slice), whole);
			assert_int_equal(slice.cut, (int)k == cases[i].cut);
			assert_int_equal(slices[k].cut, (int)k == cases[i].cut);
			assert_int_equal(slice.at != NULL, whole || (int)k == cases[i].cut);
			assert_int_equal(slices[k].at != NULL, whole || (int)k == cases[i].cut);
		}
		free(copy);
	}
}

/* tdh.h, enum _TDH_IN_TYPE: the last text of a payload may lack its terminator, so one of no
 * characters has no bytes. */
static void a_last_text_that_is_left_out_is_empty(void **state)
{
	static const struct {
		uint8_t type, length_type, count_type;
		bool last, empty;
	} cases[] = {
		{ ETW_FIELD_WSTRING, ETW_FIELD_LENGTH_TYPE, ETW_FIELD_SCALAR, true, true },
		{ ETW_FIELD_ASTRING, ETW_FIELD_LENGTH_TYPE, ETW_FIELD_SCALAR, true, true },
		{ ETW_FIELD_WSTRING, ETW_FIELD_LENGTH_REST, ETW_FIELD_SCALAR, true, true },
		{ ETW_FIELD_WSTRING, ETW_FIELD_LENGTH_TYPE, ETW_FIELD_SCALAR, false, false },
		{ ETW_FIELD_WSTRING, ETW_FIELD_LENGTH_FIXED, ETW_FIELD_SCALAR, true, false },
		{ ETW_FIELD_WSTRING, ETW_FIELD_LENGTH_TYPE, ETW_FIELD_COUNT_FIXED, true, false },
		{ ETW_FIELD_U8, ETW_FIELD_LENGTH_TYPE, ETW_FIELD_SCALAR, true, false },
		{ ETW_FIELD_SID, ETW_FIELD_LENGTH_TYPE, ETW_FIELD_SCALAR, true, false },
		{ ETW_FIELD_WCOUNTED, ETW_FIELD_LENGTH_TYPE, ETW_FIELD_SCALAR, true, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_field fields[] = { { .name = "id", .type = ETW_FIELD_U16 },
					      { .name = "name",
						.type = cases[i].type,
						.length_type = cases[i].length_type,
						.length = 4,
						.count_type = cases[i].count_type,
						.count = 2 },
					      { .name = "more", .type = ETW_FIELD_WSTRING } };
		struct etw_schema schema = place(fields, cases[i].last ? 2 : 3);
		uint8_t *copy = exact_copy("\x07", 2);

		schema.origin = ETW_SCHEMA_MANIFEST;

		for (uint32_t size = 0; size <= 2; size++) {
			struct etw_record record = over(copy, size, 8);
			struct etw_field_slice slices[3], slice;
			uint32_t rest;
			bool whole = size == 2 && cases[i].empty;

			assert_int_equal(etw_fields_walk(&schema, schema.field_count - 1U, &record,
							 slices, &rest),
					 whole ? schema.field_count : size == 2);
			assert_int_equal(etw_field_locate(&schema, 1, &record, &slice), whole);
			if (whole) {
				assert_text(&fields[1], &slice, "");
				assert_false(slice.cut);
			}
		}
		free(copy);
	}
}

/* How many elements there were cannot be known then. */
static void texts_that_are_left_out_of_an_array_of_structures_are_not_made_up(void **state)
{
	struct etw_field fields[] = {
		{ .name = "s",
		  .type = ETW_FIELD_STRUCT,
		  .count_type = ETW_FIELD_COUNT_FIXED,
		  .count = 3,
		  .span = 1 },
		{ .name = "name", .type = ETW_FIELD_ASTRING },
	};
	struct etw_schema schema = place(fields, COUNT(fields));
	struct etw_record record = over((const uint8_t *)"a\0b", 3, 8);
	struct etw_field_slice slices[2];

	(void)state;
	assert_int_equal(etw_fields_walk(&schema, 1, &record, slices, NULL), 0);
	assert_int_equal(slices[0].count, 2);
	assert_true(slices[0].cut);
}

static void strings_without_an_end_run_to_the_end(void **state)
{
	static const uint8_t wide[] = { 'a', 0, 'b', 0, 'c' };
	static const uint8_t narrow[] = { 'a', 0xe4 };
	struct etw_field field = { .name = "a", .type = ETW_FIELD_WSTRING };
	struct etw_schema schema = place(&field, 1);
	struct etw_record record;
	struct etw_field_slice slice;
	uint8_t *copy = exact_copy(wide, sizeof wide);

	(void)state;
	record = over(copy, sizeof wide, 8);
	assert_true(etw_field_locate(&schema, 0, &record, &slice));
	assert_int_equal(slice.size, sizeof wide);
	assert_text(&field, &slice, "ab");
	free(copy);

	field = (struct etw_field){ .name = "a", .type = ETW_FIELD_ASTRING };
	copy = exact_copy(narrow, sizeof narrow);
	record = over(copy, sizeof narrow, 8);
	assert_true(etw_field_locate(&schema, 0, &record, &slice));
	assert_text(&field, &slice, "a\xc3\xa4"); /* Latin-1 */
	free(copy);
}

static void narrow_text_is_utf8_or_else_latin_1(void **state)
{
	static const struct {
		const char *bytes;
		const char *text;
	} cases[] = {
		{ "plain", "plain" },
		{ "\xc3\xb6", "\xc3\xb6" },
		{ "\xef\xbf\xbd", "\xef\xbf\xbd" }, /* U+FFFD itself is UTF-8 */
		{ "\xf6", "\xc3\xb6" },
		{ "\xc3\xb6\xf6", "\xc3\x83\xc2\xb6\xc3\xb6" },
		{ "\xed\xa0\x80", "\xc3\xad\xc2\xa0\xc2\x80" }, /* a surrogate is not */
	};
	struct etw_field field = { .name = "a", .type = ETW_FIELD_ASTRING };
	struct etw_schema schema = place(&field, 1);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_record record =
			over((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes) + 1, 8);
		struct etw_field_slice slice;

		assert_true(etw_field_locate(&schema, 0, &record, &slice));
		assert_text(&field, &slice, cases[i].text);
	}
}

static void arrays_have_the_count_of_their_count_field(void **state)
{
	static const uint8_t bytes[] = { 2, 'a', 0, 0, 0, 'b', 0, 0, 0, 5, 6, 7, 8, 9 };
	struct etw_field fields[] = {
		{ .name = "n", .type = ETW_FIELD_U8 },
		{ .name = "strings",
		  .type = ETW_FIELD_WSTRING,
		  .count_type = ETW_FIELD_COUNT_FIELD,
		  .count = 0 },
		{ .name = "fixed",
		  .type = ETW_FIELD_U8,
		  .count_type = ETW_FIELD_COUNT_FIXED,
		  .count = 3 },
		{ .name = "rest", .type = ETW_FIELD_U16, .count_type = ETW_FIELD_COUNT_REST },
	};
	struct etw_schema schema = place(fields, COUNT(fields));
	uint8_t *copy = exact_copy(bytes, sizeof bytes);
	struct etw_record record = over(copy, sizeof bytes, 8);
	struct etw_field_slice slices[4], element;
	uint32_t offset = 0, rest = 7;

	(void)state;
	assert_int_equal(schema.first_variable, 1);
	assert_false(etw_field_is_integer(&fields[2]));
	assert_int_equal(etw_fields_walk(&schema, 3, &record, slices, &rest), 4);
	assert_int_equal(rest, 0);
	assert_int_equal(slices[1].count, 2);
	assert_int_equal(slices[1].size, 8);
	assert_text(&fields[1], &slices[1], "a,b");
	assert_int_equal(slices[2].count, 3);
	assert_text(&fields[2], &slices[2], "5,6,7");
	assert_int_equal(slices[3].count, 1);
	assert_text(&fields[3], &slices[3], "2312");
	assert_true(etw_field_next_element(&fields[2], &slices[2], &offset, &element));
	assert_int_equal(*element.at, 5);
	assert_int_equal(element.size, 1);

	copy[0] = 0; /* no strings: the others move up */
	assert_int_equal(etw_fields_walk(&schema, 3, &record, slices, &rest), 4);
	assert_int_equal(slices[1].count, 0);
	assert_non_null(slices[1].at);
	assert_text(&fields[1], &slices[1], "");
	assert_int_equal(slices[3].count, 5);

	copy[0] = 200; /* more than there are */
	assert_int_equal(etw_fields_walk(&schema, 3, &record, slices, &rest), 1);
	assert_true(slices[1].cut);
	assert_null(slices[2].at);
	assert_false(etw_field_locate(&schema, 3, &record, &element));
	free(copy);
}

static void a_counter_behind_a_string_counts_too(void **state)
{
	static const uint8_t bytes[] = { 'x', 0, 3, 1, 2, 3, 4 };
	struct etw_field fields[] = {
		{ .name = "name", .type = ETW_FIELD_ASTRING },
		{ .name = "n", .type = ETW_FIELD_I8 },
		{ .name = "bytes",
		  .type = ETW_FIELD_BINARY,
		  .length_type = ETW_FIELD_LENGTH_FIELD,
		  .length = 1 },
		{ .name = "last", .type = ETW_FIELD_U8 },
	};
	struct etw_schema schema = place(fields, COUNT(fields));
	uint8_t *copy = exact_copy(bytes, sizeof bytes);
	struct etw_record record = over(copy, sizeof bytes, 8);
	struct etw_field_slice slice;

	(void)state;
	assert_true(etw_field_locate(&schema, 3, &record, &slice));
	assert_true(etw_field_u64(&fields[3], &slice) == 4);
	assert_true(etw_field_locate(&schema, 2, &record, &slice));
	assert_text(&fields[2], &slice, "010203");
	copy[2] = 0xff; /* -1 */
	assert_false(etw_field_locate(&schema, 2, &record, &slice));
	assert_true(slice.cut);
	free(copy);
}

static void a_counter_that_makes_no_sense_makes_a_single_value(void **state)
{
	struct etw_field fields[] = {
		{ .name = "a",
		  .type = ETW_FIELD_U8,
		  .count_type = ETW_FIELD_COUNT_FIELD,
		  .count = 0 }, /* itself */
		{ .name = "b",
		  .type = ETW_FIELD_U8,
		  .count_type = ETW_FIELD_COUNT_FIELD,
		  .count = 2 }, /* later */
		{ .name = "c", .type = ETW_FIELD_GUID },
		{ .name = "d",
		  .type = ETW_FIELD_U8,
		  .count_type = ETW_FIELD_COUNT_FIELD,
		  .count = 2 }, /* no integer */
	};

	(void)state;
	place(fields, COUNT(fields));
	for (size_t i = 0; i < COUNT(fields); i++) {
		assert_int_equal(fields[i].count_type, ETW_FIELD_SCALAR);
	}
}

static void values_become_text(void **state)
{
	static const uint8_t bytes[] = { 0x78, 0x56, 0x34, 0x12, 1, 2,  3,  4,
					 5,    6,    7,    8,    9, 10, 11, 12 };
	static const struct {
		enum etw_field_type type;
		enum etw_field_count_type count_type;
		const char *text;
	} cases[] = {
		{ ETW_FIELD_GUID, ETW_FIELD_SCALAR, "12345678-0201-0403-0506-0708090a0b0c" },
		{ ETW_FIELD_IP4, ETW_FIELD_SCALAR, "120.86.52.18" },
		{ ETW_FIELD_IP6, ETW_FIELD_SCALAR, "7856:3412:102:304:506:708:90a:b0c" },
		{ ETW_FIELD_BINARY, ETW_FIELD_SCALAR, "785634120102030405060708090a0b0c" },
		{ ETW_FIELD_U64, ETW_FIELD_COUNT_REST, "289077004705486456,867798387104613893" },
		{ ETW_FIELD_IP4, ETW_FIELD_COUNT_REST, "120.86.52.18,1.2.3.4,5.6.7.8,9.10.11.12" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_field field = { .name = "a",
					   .type = (uint8_t)cases[i].type,
					   .count_type = (uint8_t)cases[i].count_type };
		struct etw_schema schema = place(&field, 1);
		struct etw_record record = over(bytes, sizeof bytes, 8);
		struct etw_field_slice slice;

		assert_true(etw_field_locate(&schema, 0, &record, &slice));
		assert_text(&field, &slice, cases[i].text);
	}
}

static void a_large_payload_needs_no_constant_offset(void **state)
{
	struct etw_field fields[] = {
		{ .name = "a",
		  .type = ETW_FIELD_WSTRING,
		  .length_type = ETW_FIELD_LENGTH_FIXED,
		  .length = 30000 },
		{ .name = "b",
		  .type = ETW_FIELD_WSTRING,
		  .length_type = ETW_FIELD_LENGTH_FIXED,
		  .length = 2000 },
		{ .name = "c",
		  .type = ETW_FIELD_WSTRING,
		  .length_type = ETW_FIELD_LENGTH_FIXED,
		  .length = 40000 },
		{ .name = "d", .type = ETW_FIELD_U8 },
	};
	struct etw_schema schema = place(fields, COUNT(fields));
	uint8_t *bytes = calloc(1, 65535);
	struct etw_record record = over(bytes, 65535, 8);
	struct etw_field_slice slice, slices[4];

	(void)state;
	assert_int_equal(etw_fields_walk(&schema, 3, &record, slices, NULL), 2);
	assert_true(etw_field_locate(&schema, 1, &record, &slice));
	assert_ptr_equal(slice.at, bytes + 60000);
	assert_false(etw_field_locate(&schema, 2, &record, &slice));
	assert_false(etw_field_locate(&schema, 3, &record, &slice));
	free(bytes);
}

/* ---- every kernel layout against every length of payload ---- */

static void try_length(const struct etw_schema *schema, const uint8_t *bytes, size_t size,
		       uint8_t pointer_size)
{
	uint8_t *copy = exact_copy(bytes, size);
	struct etw_record record = over(copy, size, pointer_size);
	struct etw_field_slice slices[64], slice;
	struct etw_text text = { 0 };
	unsigned last = schema->field_count - 1u;
	unsigned whole = etw_fields_walk(schema, last, &record, slices, NULL);

	for (unsigned i = 0; i <= last; i++) {
		bool located = etw_field_locate(schema, i, &record, &slice);

		assert_int_equal(located, i < whole);
		assert_ptr_equal(slice.at, slices[i].at);
		assert_int_equal(slice.size, slices[i].size);
		assert_int_equal(slice.count, slices[i].count);
		assert_int_equal(slice.cut, slices[i].cut);
		if (slice.at) {
			assert_true(slice.size <= size - (size_t)(slice.at - copy));
			etw_field_text(&schema->fields[i], &slice, &text);
			(void)etw_field_u64(&schema->fields[i], &slice);
		}
	}
	text_free(&text);
	free(copy);
}

static void try_layout(const struct etw_schema *schema)
{
	enum { LENGTH_MOST = 1024 };
	static const uint8_t fills[] = { 0x00, 0xff, 0x01, 'a' };
	uint8_t bytes[LENGTH_MOST];

	if (schema->field_count == 0) {
		return;
	}
	for (size_t fill = 0; fill < COUNT(fills); fill++) {
		for (uint8_t pointer_size = 4; pointer_size <= 8; pointer_size += 4) {
			const struct etw_field *last =
				&schema->fields[schema->first_variable ?
							schema->first_variable - 1 :
							0];
			size_t most = last->offset[1] + (size_t)last->size[1] + 60;

			memset(bytes, fills[fill], sizeof bytes);
			for (size_t size = 0; size <= most && size <= LENGTH_MOST;
			     size += size < 200 ? 1 : 7) {
				try_length(schema, bytes, size, pointer_size);
			}
		}
	}
}

static void every_kernel_layout_survives_payloads_of_every_length(void **state)
{
	const struct etw_schema *schema;
	struct etw_guid guid;
	unsigned layouts = 0;

	(void)state;
	for (unsigned class = 0; etw_kernel_class_at(class, &guid); class ++) {
		const struct etw_schema *last = NULL;

		for (unsigned opcode = 0; opcode < 256; opcode++) {
			for (unsigned i = 0;
			     (schema = etw_kernel_schema_at(&guid, (uint8_t)opcode, i, NULL));
			     i++) {
				if (schema != last) {
					try_layout(schema);
					layouts++;
				}
				last = schema;
			}
		}
	}
	print_message("  %u layouts\n", layouts);
	assert_true(layouts > 250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_constant_up_to_the_first_variable_field),
		cmocka_unit_test(a_schema_without_strings_has_no_variable_field),
		cmocka_unit_test(integers_keep_their_sign_and_order),
		cmocka_unit_test(fields_behind_strings_are_found_by_walking),
		cmocka_unit_test(a_payload_that_ends_early_leaves_fields_absent_or_cut),
		cmocka_unit_test(a_last_text_that_is_left_out_is_empty),
		cmocka_unit_test(texts_that_are_left_out_of_an_array_of_structures_are_not_made_up),
		cmocka_unit_test(strings_without_an_end_run_to_the_end),
		cmocka_unit_test(narrow_text_is_utf8_or_else_latin_1),
		cmocka_unit_test(arrays_have_the_count_of_their_count_field),
		cmocka_unit_test(a_counter_behind_a_string_counts_too),
		cmocka_unit_test(a_counter_that_makes_no_sense_makes_a_single_value),
		cmocka_unit_test(values_become_text),
		cmocka_unit_test(a_large_payload_needs_no_constant_offset),
		cmocka_unit_test(every_kernel_layout_survives_payloads_of_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
