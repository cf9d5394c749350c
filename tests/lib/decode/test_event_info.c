/* SPDX-License-Identifier: MIT */
/*
 * Descriptions of events in merged recordings: types, counts and lengths by property, structures as
 * ranges of properties, and ranges that lead astray.
 */
#include "lib/decode/event_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "tests/support/decoded_text.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SIZED(text)  text, sizeof(text) - 1

static const struct etw_guid provider = { { 0xab } };
static const struct etw_guid meta_data = ETW_META_DATA_CLASS;

/* Bytes of a description, and the record that holds them. */
struct described {
	uint8_t *bytes;
	struct etw_record record;
	struct etw_event_info info;
};

static bool describe(struct described *described, const struct event_info_blob *blob, size_t cut)
{
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	payload_event_info(&payload, blob);
	assert_false(payload.failed);
	assert_true(payload.size >= cut);
	described->bytes = exact_copy(payload.bytes, payload.size - cut);
	described->record = (struct etw_record){
		.provider = &meta_data,
		.type = ETW_RECORD_FULL,
		.classic = true,
		.opcode = META_DATA_EVENT_INFO,
		.payload = described->bytes,
		.payload_size = (uint32_t)(payload.size - cut),
	};
	etw_payload_done(&payload);
	return etw_event_info_read(&described->record, &described->info);
}

/* The schema's fields; the caller frees them. */
static struct etw_schema schema_of(const struct blob_property *properties, size_t count,
				   size_t top_level, struct built_fields *fields)
{
	struct event_info_blob blob = { .provider = &provider,
					.properties = properties,
					.property_count = count,
					.top_level_count = top_level };
	struct described described;

	assert_true(describe(&described, &blob, 0));
	assert_true(event_info_fields(&described.info, fields, NULL));
	free(described.bytes);
	return (struct etw_schema){ .fields = fields->fields,
				    .field_count = fields->count,
				    .first_variable = fields->first_variable,
				    .origin = ETW_SCHEMA_EVENT_INFO };
}

static void every_type(void **state)
{
	static const struct {
		uint16_t in, out;
		uint32_t flags;
		uint16_t count, length;
		const char *bytes;
		size_t size;
		const char *text;
	} cases[] = {
		{ 1, 1, 0, 1, 0, SIZED("a\0b\0\0\0"), "ab" },
		{ 1, 1, 0, 1, 2, SIZED("a\0b\0"), "ab" },
		{ 1, 1, BLOB_LENGTH_BY, 1, 0, SIZED("a\0b\0c\0"), "abc" },
		{ 2, 1, 0, 1, 0, SIZED("ab\0"), "ab" },
		{ 3, 3, 0, 1, 1, SIZED("\xff"), "-1" },
		{ 4, 4, 0, 1, 1, SIZED("\xff"), "255" },
		{ 4, 13, 0, 1, 1, SIZED("\x02"), "1" },
		{ 5, 5, 0, 1, 2, SIZED("\xfe\xff"), "-2" },
		{ 6, 6, 0, 1, 2, SIZED("\xfe\xff"), "65534" },
		{ 6, 22, 0, 1, 2, SIZED("\x1f\x90"), "8080" },
		{ 7, 7, 0, 1, 4, SIZED("\0\0\0\x80"), "-2147483648" },
		{ 8, 18, 0, 1, 4, SIZED("\0\0\0\x80"), "2147483648" },
		{ 8, 23, 0, 1, 4, SIZED("\xc0\xa8\x01\x02"), "192.168.1.2" },
		{ 9, 9, 0, 1, 8, SIZED("\xff\xff\xff\xff\xff\xff\xff\xff"), "-1" },
		{ 10, 19, 0, 1, 8, SIZED("\x01\0\0\0\x01\0\0\0"), "4294967297" },
		{ 11, 11, 0, 1, 4, SIZED("\xcd\xcc\xcc\x3d"), "0.1" },
		{ 12, 12, 0, 1, 8, SIZED("\0\0\0\0\0\0\x04\xc0"), "-2.5" },
		{ 13, 13, 0, 1, 4, SIZED("\0\x01\0\0"), "1" },
		{ 14, 15, BLOB_FIXED_LENGTH, 1, 2, SIZED("\xde\xad"), "dead" },
		{ 14, 15, BLOB_LENGTH_BY, 1, 0, SIZED("\x01\x02\x03"), "010203" },
		{ 14, 24, BLOB_FIXED_LENGTH, 1, 16, SIZED("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"),
		  "::1" },
		{ 14, 25, BLOB_FIXED_LENGTH, 1, 28,
		  SIZED("\x17\0\0\x35\0\0\0\0\x20\x01\x48\x98\0\0\0\0\0\0\0\0\x10\x50\x10\x50"
			"\0\0\0\0"),
		  "[2001:4898::1050:1050]:53" },
		{ 15, 14, 0, 1, 16,
		  SIZED("\x04\x03\x02\x01\x06\x05\x08\x07\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"),
		  "01020304-0506-0708-090a-0b0c0d0e0f10" },
		{ 16, 19, 0, 1, 4, SIZED("\x01\0\0\0\0\0\0\x80"), "9223372036854775809" },
		{ 17, 2, 0, 1, 8, SIZED("\x07\0\0\0\0\0\0\0"), "7" },
		{ 18, 2, 0, 1, 16, SIZED("\xe8\x07\x02\0\x04\0\x1d\0\x17\0\x3b\0\x3a\0\x05\0"),
		  "2024-02-29T23:59:58.005" },
		{ 19, 1, 0, 1, 0, SIZED("\x01\x01\0\0\0\0\0\x05\x12\0\0\0"), "S-1-5-18" },
		{ 20, 18, 0, 1, 4, SIZED("\xff\xff\xff\xff"), "4294967295" },
		{ 21, 19, 0, 1, 8, SIZED("\x0a\0\0\0\0\0\0\0"), "10" },
		{ 22, 1, 0, 1, 0, SIZED("\x04\0A\0B\0"), "AB" },
		{ 23, 1, 0, 1, 0, SIZED("\x02\0AB"), "AB" },
		{ 25, 15, 0, 1, 0, SIZED("\x02\0\xab\xcd"), "abcd" },
		{ 300, 1, 0, 1, 0, SIZED("\x04\0A\0B\0"), "AB" },
		{ 301, 1, 0, 1, 0, SIZED("\x02\0AB"), "AB" },
		{ 302, 1, 0, 1, 0,
		  SIZED("\0\x04"
			"A\0B\0"),
		  "AB" },
		{ 303, 1, 0, 1, 0,
		  SIZED("\0\x02"
			"AB"),
		  "AB" },
		{ 306, 1, 0, 1, 2, SIZED("x\0"), "x" },
		{ 307, 1, 0, 1, 1, SIZED("x"), "x" },
		{ 308, 19, 0, 1, 8, SIZED("\x09\0\0\0\0\0\0\0"), "9" },
		{ 309, 15, 0, 1, 0, SIZED("\x02\0\0\0\xab\xcd"), "abcd" },
		{ 310, 1, 0, 1, 0,
		  SIZED("\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x01\0\0\0\0\0\x05\x12\0\0\0"),
		  "S-1-5-18" },
		{ 310, 1, 0, 1, 0, SIZED("\0\0\0\0"), "" },

		{ 6, 6, 0, 2, 2, SIZED("\x01\0\x02\0"), "1,2" },
		{ 6, 6, BLOB_FIXED_COUNT, 1, 2, SIZED("\x01\0"), "1" },
		{ 6, 6, BLOB_COUNT_BY, 0, 2, SIZED("\x01\0\x02\0\x03\0"), "1,2,3" },
		{ 2, 1, BLOB_COUNT_BY, 0, 0, SIZED("a\0b\0c\0"), "a,b,c" },
		/* Counted by itself, by one that comes later, by none at all. */
		{ 6, 6, BLOB_COUNT_BY, 1, 2, SIZED("\x01\0"), "1" },
		{ 6, 6, BLOB_COUNT_BY, 2, 2, SIZED("\x01\0"), "1" },
		{ 6, 6, BLOB_COUNT_BY, 9999, 2, SIZED("\x01\0"), "1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct blob_property properties[] = {
			{ "b", 0, 4, 4, 1, 1 },
			{ "v", cases[i].flags, cases[i].in, cases[i].out, cases[i].count,
			  cases[i].length },
			{ "e", 0, 6, 6, 1, 2 },
		};
		struct etw_text payload = { 0 }, expected = { 0 };
		struct built_fields fields;
		struct etw_schema schema = schema_of(properties, 3, 3, &fields);

		text_add(&payload, "\x03", 1);
		text_add(&payload, cases[i].bytes, cases[i].size);
		text_add(&payload, "\x22\x01", 2);
		text_add_format(&expected, "b=3 v=%s e=290", cases[i].text);
		assert_decoded(&schema, payload.data, payload.size, 8, expected.data, 0);
		text_free(&payload);
		text_free(&expected);
		free(fields.fields);
	}
}

static void some_run_to_the_end(void **state)
{
	static const struct {
		uint16_t in;
		const char *bytes;
		size_t size;
		const char *expected;
	} cases[] = {
		{ 304, SIZED("a\0b\0"), "v=ab" },
		{ 305, SIZED("ab"), "v=ab" },
		{ 14, SIZED("\1\2"), "v=0102" },
		{ 1, SIZED("a\0b\0"), "v=ab" },
		{ 304, "", 0, "v=" },
		{ 14, "", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct blob_property property = { "v", 0, cases[i].in, 1, 1, 0 };
		struct built_fields fields;
		struct etw_schema schema = schema_of(&property, 1, 1, &fields);

		assert_decoded(&schema, cases[i].bytes, cases[i].size, 8, cases[i].expected, 0);
		free(fields.fields);
	}
}

/* As Microsoft-Windows-DotNETRuntime describes Type/BulkType in net.4.5.2.x64.etl. */
static const struct blob_property bulk_type[] = {
	{ "Count", 0, 8, 8, 1, 4 },
	{ "ClrInstanceID", 0, 6, 6, 1, 2 },
	{ "Values", BLOB_STRUCT | BLOB_COUNT_BY, 3, 4, 0, 0 },
	{ "TypeID", 0, 10, 19, 1, 8 },
	{ "Name", 0, 1, 1, 1, 0 },
	{ "TypeParameterCount", 0, 8, 8, 1, 4 },
	{ "TypeParameters", BLOB_COUNT_BY, 10, 19, 5, 8 },
};

static void arrays_of_structures_with_arrays_in_them(void **state)
{
	static const char payload[] = "\2\0\0\0\x0b\0"
				      "\x07\0\0\0\0\0\0\0A\0\0\0\1\0\0\0\x09\0\0\0\0\0\0\0"
				      "\x08\0\0\0\0\0\0\0B\0\0\0\0\0\0\0";
	struct built_fields fields;
	struct etw_schema schema = schema_of(bulk_type, COUNT(bulk_type), 3, &fields);

	(void)state;
	assert_int_equal(schema.field_count, 7);
	assert_int_equal(schema.fields[2].span, 4);
	assert_decoded(&schema, SIZED(payload), 8,
		       "Count=2 ClrInstanceID=11 "
		       "Values={TypeID=7 Name=A TypeParameterCount=1 TypeParameters=9}"
		       "{TypeID=8 Name=B TypeParameterCount=0 TypeParameters=}",
		       0);
	assert_decoded(&schema, payload, 40, 8, "Count=2 ClrInstanceID=11", 0);
	assert_decoded(&schema, "\0\0\0\0\x0b\0", 6, 8, "Count=0 ClrInstanceID=11 Values=", 0);
	free(fields.fields);
}

static void a_single_structure_is_part_of_the_payload(void **state)
{
	static const struct blob_property properties[] = {
		{ "a", BLOB_STRUCT, 2, 2, 1, 0 },
		{ "z", 0, 4, 4, 1, 1 },
		{ "x", 0, 4, 4, 1, 1 },
		{ "y", 0, 4, 4, 1, 1 },
	};
	struct built_fields fields;
	struct etw_schema schema = schema_of(properties, COUNT(properties), 2, &fields);

	(void)state;
	assert_decoded(&schema, "\1\2\3", 3, 8, "a={x=1 y=2} z=3", 0);
	assert_int_equal(schema.fields[etw_schema_find_field(&schema, "a.y")].offset[0], 1);
	free(fields.fields);
}

static void ranges_that_lead_astray_end_the_fields(void **state)
{
	static const struct {
		struct blob_property properties[4];
		size_t top_level;
		unsigned fields;
	} cases[] = {
		/* A structure that is its own member. */
		{ { { "s", BLOB_STRUCT, 0, 1, 1, 0 } }, 1, 1 },
		{ { { "a", 0, 4, 4, 1, 1 }, { "s", BLOB_STRUCT, 0, 4, 1, 0 } }, 2, 2 },
		/* Two with the same members: these are made once. */
		{ { { "s", BLOB_STRUCT, 2, 2, 1, 0 },
		    { "t", BLOB_STRUCT, 2, 2, 1, 0 },
		    { "x", 0, 4, 4, 1, 1 },
		    { "y", 0, 4, 4, 1, 1 } },
		  2,
		  4 },
		/* The members are beyond the last property. */
		{ { { "s", BLOB_STRUCT, 4, 1, 1, 0 } }, 1, 1 },
		{ { { "s", BLOB_STRUCT, 65535, 65535, 1, 0 } }, 1, 1 },
		/* An array of such is worth nothing. */
		{ { { "a", 0, 4, 4, 1, 1 }, { "s", BLOB_STRUCT, 0, 4, 3, 0 } }, 2, 1 },
		/* More at the top than there are. */
		{ { { "a", 0, 4, 4, 1, 1 },
		    { "b", 0, 4, 4, 1, 1 },
		    { "c", 0, 4, 4, 1, 1 },
		    { "d", 0, 4, 4, 1, 1 } },
		  UINT32_MAX,
		  4 },
		/* No such type. */
		{ { { "a", 0, 4, 4, 1, 1 }, { "b", 0, 26, 4, 1, 1 }, { "c", 0, 4, 4, 1, 1 } },
		  3,
		  1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct built_fields fields;
		struct etw_schema schema =
			schema_of(cases[i].properties, 4, cases[i].top_level, &fields);

		assert_int_equal(schema.field_count, cases[i].fields);
		free(fields.fields);
	}
}

static void the_name_is_task_and_opcode(void **state)
{
	static const struct {
		const char *task, *opcode;
		uint32_t source;
		const char *name;
	} cases[] = {
		{ "Work", "win:Start", ETW_EVENT_INFO_MANIFEST, "Work/win:Start" },
		{ "Work ", "Start ", ETW_EVENT_INFO_MANIFEST,
		  "Work/Start" }, /* blanks at the end */
		{ "Work", NULL, ETW_EVENT_INFO_MANIFEST, "Work" },
		{ NULL, "Start", ETW_EVENT_INFO_MANIFEST, "Start" },
		{ NULL, NULL, ETW_EVENT_INFO_MANIFEST, "77" },
		{ NULL, NULL, ETW_EVENT_INFO_MOF, "5" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct event_info_blob blob = { .provider = &provider,
						.id = 77,
						.opcode = 5,
						.source = cases[i].source,
						.task = cases[i].task,
						.opcode_name = cases[i].opcode };
		struct described described;
		struct etw_text name = { 0 };

		assert_true(describe(&described, &blob, 0));
		event_info_name(&described.info, &name);
		assert_string_equal(name.data, cases[i].name);
		text_free(&name);
		free(described.bytes);
	}
}

/* Names that the cut takes away are empty; a property that it takes away is missed. */
static void a_description_may_be_cut_anywhere(void **state)
{
	const struct event_info_blob blob = { .provider = &provider,
					      .task = "Task",
					      .properties = bulk_type,
					      .property_count = COUNT(bulk_type),
					      .top_level_count = 3 };
	bool whole = true;

	(void)state;
	for (size_t cut = 0; cut < 400; cut++) {
		struct described described;
		struct built_fields fields;
		bool is_one = describe(&described, &blob, cut);

		assert_true(whole || !is_one);
		whole = is_one;
		if (is_one) {
			assert_true(event_info_fields(&described.info, &fields, NULL));
			assert_int_equal(fields.count, COUNT(bulk_type));
			free(fields.fields);
		}
		free(described.bytes);
	}
	assert_false(whole);
}

/* EVENT_MAP_INFO of tdh.h whose entries have the values 0, 1 and so on; behind them a text. */
static struct etw_value_map *map_of(uint32_t flag, const uint32_t *names, uint32_t count,
				    const char *text)
{
	struct etw_payload payload;
	struct etw_event_map map;
	struct etw_value_map *made;
	uint8_t *bytes;

	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, 0); /* the map has no name */
	etw_payload_u32(&payload, flag);
	etw_payload_u32(&payload, count);
	etw_payload_u32(&payload, 0);
	for (uint32_t i = 0; i < count; i++) {
		etw_payload_u32(&payload, names[i]);
		etw_payload_u32(&payload, i);
	}
	etw_payload_wstring(&payload, text);
	assert_false(payload.failed);
	bytes = exact_copy(payload.bytes, payload.size);
	assert_true(etw_event_map_view(&provider, bytes, (uint32_t)payload.size, &map));
	made = etw_event_map_make(&map);
	free(bytes);
	etw_payload_done(&payload);
	return made;
}

static void a_map_names_the_values_whose_names_are_in_it(void **state)
{
	enum { TEXT = 16 + 5 * 8 };
	/* One without a name, one behind the end, and one that the text before it contains. */
	static const uint32_t names[] = { TEXT, 0, 10000, TEXT + 2 * 2, TEXT + 2 * 6 };
	struct etw_value_map *map = map_of(1, names, COUNT(names), "Small  ");
	struct etw_text text = { 0 };

	(void)state;
	assert_non_null(map);
	assert_null(map->name);
	assert_false(map->bits);
	assert_int_equal(map->count, 2);
	assert_true(value_map_text(map, 0, &text));
	assert_true(value_map_text(map, 3, &text));
	assert_string_equal(text.data, "Smallall");
	assert_false(value_map_text(map, 1, &text));
	assert_false(value_map_text(map, 4, &text)); /* only blanks */
	free(map);
	text_free(&text);
	/* Neither values nor bits, such as a pattern map. */
	assert_null(map_of(4, names, COUNT(names), "Small"));
}

/* All entries may have one long name, so that a few bytes become very many. */
static void the_names_of_a_map_take_bounded_room(void **state)
{
	enum { ENTRIES = 3000, NAME = 200 };
	uint32_t *names = malloc(ENTRIES * sizeof *names);
	char name[NAME + 1] = { 0 };
	struct etw_value_map *map;

	(void)state;
	assert_non_null(names);
	memset(name, 'x', NAME);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		names[i] = 16 + ENTRIES * 8;
	}
	map = map_of(1, names, ENTRIES, name);
	assert_non_null(map);
	assert_true(map->count > 0);
	assert_true(map->count * NAME <= (1 << 18) + NAME);
	assert_string_equal(map->names[0].name, name);
	free(map);
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type),
		cmocka_unit_test(some_run_to_the_end),
		cmocka_unit_test(arrays_of_structures_with_arrays_in_them),
		cmocka_unit_test(a_single_structure_is_part_of_the_payload),
		cmocka_unit_test(ranges_that_lead_astray_end_the_fields),
		cmocka_unit_test(the_name_is_task_and_opcode),
		cmocka_unit_test(a_description_may_be_cut_anywhere),
		cmocka_unit_test(a_map_names_the_values_whose_names_are_in_it),
		cmocka_unit_test(the_names_of_a_map_take_bounded_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
