/* SPDX-License-Identifier: MIT */
/*
 * TraceLogging: metadata by hand, every in-type, the out-types that change what bytes mean, arrays,
 * structures, metadata that is not what it says, and metadata that is built for values.
 */
#include <etw/describe.h>
#include <etw/mirror.h>

#include "lib/decode/event_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/support/decoded_text.h"
#include "tests/support/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Metadata under construction: event name first, then fields as bytes of text. */
#define FIELD(name, types) name "\0" types
#define SIZED(text)        text, sizeof(text) - 1

static struct etw_tracelogging_cache *cache_new(void)
{
	struct etw_error err;
	struct etw_tracelogging_cache *cache = etw_tracelogging_cache_new(&err);

	assert_non_null(cache);
	return cache;
}

/* The schema of metadata whose size word and tags are added here. */
static const struct etw_schema *schema_of(struct etw_tracelogging_cache *cache, const char *body,
					  size_t size)
{
	struct etw_payload metadata;
	struct etw_extended_item item = { .type = ETW_EXTENDED_TRACELOGGING };
	const struct etw_schema *schema;
	uint8_t *copy;

	etw_payload_init(&metadata, 8);
	etw_payload_u16(&metadata, (uint16_t)(3 + size));
	etw_payload_u8(&metadata, 0);
	etw_payload_bytes(&metadata, body, size);
	copy = exact_copy(metadata.bytes, metadata.size);
	item.data = copy;
	item.size = (uint16_t)metadata.size;
	schema = etw_tracelogging_schema(cache, &item);
	free(copy);
	etw_payload_done(&metadata);
	return schema;
}

static void assert_values(const struct etw_schema *schema, const void *bytes, size_t size,
			  const char *expected, uint32_t expected_rest)
{
	assert_decoded(schema, bytes, size, 8, expected, expected_rest);
}

static void a_nested_structure_as_one_was_recorded(void **state)
{
	/* SelfDescribingSingleEvent.etl: docs/etl-format.md section 10.2. */
	static const char body[] = "TestEvent\0" FIELD("a", "\x98\x02") FIELD("b", "\x01")
		FIELD("c", "\x01");
	static const char payload[] = "H\0e\0l\0l\0o\0\0\0W\0o\0r\0l\0d\0!\0\0";
	struct etw_tracelogging_cache *cache = cache_new();
	const struct etw_schema *schema = schema_of(cache, SIZED(body));

	(void)state;
	assert_non_null(schema);
	assert_string_equal(schema->event, "TestEvent");
	assert_int_equal(schema->origin, ETW_SCHEMA_TRACELOGGING);
	assert_int_equal(schema->field_count, 3);
	assert_int_equal(schema->fields[0].span, 2);
	assert_int_equal(etw_schema_find_field(schema, "a.b"), 1);
	assert_int_equal(etw_schema_find_field(schema, "a.c"), 2);
	assert_int_equal(etw_schema_find_field(schema, "a"), -1);
	assert_int_equal(etw_schema_find_field(schema, "b"), -1);
	assert_values(schema, payload, sizeof payload, "a={b=Hello c=World!}", 0);
	etw_tracelogging_cache_free(cache);
}

static void primitive_types_as_they_were_recorded(void **state)
{
	/* primitive-types.etl: section 10.2. */
	static const char body[] = "PrimitiveTypesTest\0" FIELD("string", "\x02")
		FIELD("boolean", "\x84\x03") FIELD("char", "\x84\x02") FIELD("i16", "\x05")
			FIELD("i32", "\x07") FIELD("u16", "\x06") FIELD("i64", "\x0a")
				FIELD("time", "\x11") FIELD("calendar", "\x12");
	static const char payload[] = "Mercury\0\0M\xcd\xff\x9a\xff\xff\xff\x33\0"
				      "\x34\xff\xff\xff\xff\xff\xff\xff"
				      "\x70\x10\xfa\x4d\x8b\xa5\xd7\x01"
				      "\xe5\x07\x09\0\x04\0\x09\0\x0e\0\x3b\0\x23\0\x1f\x03";
	struct etw_tracelogging_cache *cache = cache_new();
	const struct etw_schema *schema = schema_of(cache, SIZED(body));

	(void)state;
	assert_values(schema, SIZED(payload),
		      "string=Mercury boolean=0 char=M i16=-51 i32=-102 u16=51 "
		      "i64=18446744073709551412 time=132756731757990000 "
		      "calendar=2021-09-09T14:59:35.799",
		      0);
	assert_true(etw_field_is_integer(&schema->fields[7]));
	etw_tracelogging_cache_free(cache);
}

static void every_in_type(void **state)
{
	static const struct {
		const char *types;
		size_t types_size;
		const char *bytes;
		size_t size;
		const char *text;
	} cases[] = {
		{ SIZED("\x00"), SIZED(""), "" },
		{ SIZED("\x01"), SIZED("a\0\xf6\0\0\0"), "a\xc3\xb6" },
		{ SIZED("\x02"), SIZED("ab\0"), "ab" },
		{ SIZED("\x03"), SIZED("\xff"), "-1" },
		{ SIZED("\x04"), SIZED("\xff"), "255" },
		{ SIZED("\x05"), SIZED("\xfe\xff"), "-2" },
		{ SIZED("\x06"), SIZED("\xfe\xff"), "65534" },
		{ SIZED("\x07"), SIZED("\0\0\0\x80"), "-2147483648" },
		{ SIZED("\x08"), SIZED("\0\0\0\x80"), "2147483648" },
		{ SIZED("\x09"), SIZED("\xff\xff\xff\xff\xff\xff\xff\xff"), "-1" },
		{ SIZED("\x0a"), SIZED("\x01\0\0\0\x01\0\0\0"), "4294967297" },
		{ SIZED("\x0b"), SIZED("\xcd\xcc\xcc\x3d"), "0.1" },
		{ SIZED("\x0c"), SIZED("\0\0\0\0\0\0\x04\xc0"), "-2.5" },
		{ SIZED("\x0d"), SIZED("\0\x01\0\0"), "1" },
		{ SIZED("\x0e"), SIZED("\x02\0\xde\xad"), "dead" },
		{ SIZED("\x0f"),
		  SIZED("\x04\x03\x02\x01\x06\x05\x08\x07\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"),
		  "01020304-0506-0708-090a-0b0c0d0e0f10" },
		{ SIZED("\x10"), SIZED("\x01\0\0\0\0\0\0\x80"), "9223372036854775809" },
		{ SIZED("\x11"), SIZED("\x07\0\0\0\0\0\0\0"), "7" },
		{ SIZED("\x12"), SIZED("\xe8\x07\x02\0\x04\0\x1d\0\x17\0\x3b\0\x3a\0\x05\0"),
		  "2024-02-29T23:59:58.005" },
		{ SIZED("\x13"), SIZED("\x01\x01\0\0\0\0\0\x05\x12\0\0\0"), "S-1-5-18" },
		{ SIZED("\x14"), SIZED("\xff\xff\xff\xff"), "4294967295" },
		{ SIZED("\x15"), SIZED("\xff\xff\xff\xff\xff\xff\xff\xff"),
		  "18446744073709551615" },
		{ SIZED("\x16"), SIZED("\x04\0A\0B\0"), "AB" },
		{ SIZED("\x16"), SIZED("\x06\0A\0B\0\0\0"), "AB" }, /* the NUL is in the count */
		{ SIZED("\x17"), SIZED("\x03\0xyz"), "xyz" },
		{ SIZED("\x17"), SIZED("\0\0"), "" },
		{ SIZED("\x19"), SIZED("\x01\0\x0f"), "0f" },

		/* Out-types. */
		{ SIZED("\x83\x02"), SIZED("x"), "x" },
		{ SIZED("\x86\x02"), SIZED("\xf6\0"), "\xc3\xb6" },
		{ SIZED("\x84\x03"), SIZED("\x07"), "1" },
		{ SIZED("\x86\x03"), SIZED("\0\x01"), "1" },
		{ SIZED("\x88\x03"), SIZED("\0\x01\0\0"), "1" },
		{ SIZED("\x88\x04"), SIZED("\x0a\0\0\0"), "10" },
		{ SIZED("\x86\x07"), SIZED("\x1f\x90"), "8080" },
		{ SIZED("\x88\x08"), SIZED("\xc0\xa8\x01\x02"), "192.168.1.2" },
		{ SIZED("\x8e\x09"), SIZED("\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"), "::1" },
		{ SIZED("\x8e\x09"), SIZED("\x02\0\xab\xcd"), "abcd" },
		{ SIZED("\x8e\x0a"), SIZED("\x08\0\x02\0\0\x50\x0a\0\0\x01"), "10.0.0.1:80" },
		{ SIZED("\x8e\x0a"),
		  SIZED("\x18\0\x17\0\0\x35\0\0\0\0\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x02"),
		  "[fe80::2]:53" },
		{ SIZED("\x8e\x0a"), SIZED("\x04\0\x02\0\0\x50"), "02000050" },
		{ SIZED("\x8a\x10"), SIZED("\x07\0\0\0\0\0\0\0"), "7" },
		{ SIZED("\x88\x11"), SIZED("\xff\xff\xff\xff"), "-1" },
		{ SIZED("\x87\x12"), SIZED("\xff\xff\xff\xff"), "4294967295" },
		{ SIZED("\x82\x23"), SIZED("\xc3\xb6\0"), "\xc3\xb6" },

		/* Out-type with tags behind it. */
		{ SIZED("\x84\x83\x81\x02"), SIZED("\x01"), "1" },

		/* Arrays: with a count here, with one in the payload. */
		{ SIZED("\x28\x03\0"), SIZED("\x01\0\0\0\x02\0\0\0\x03\0\0\0"), "1,2,3" },
		{ SIZED("\x28\0\0"), SIZED(""), "" },
		{ SIZED("\x46"), SIZED("\x02\0\x07\0\x08\0"), "7,8" },
		{ SIZED("\x46"), SIZED("\0\0"), "" },
		{ SIZED("\x41"), SIZED("\x02\0a\0\0\0b\0\0\0"), "a,b" },
		{ SIZED("\x57"), SIZED("\x02\0\x01\0a\x02\0bc"), "a,bc" },
		{ SIZED("\x4e"), SIZED("\x02\0\x01\0\xaa\x01\0\xbb"), "aa,bb" },
		{ SIZED("\x53"), SIZED("\x01\0\x01\x01\0\0\0\0\0\x05\x12\0\0\0"), "S-1-5-18" },
		{ SIZED("\xc6\x02"), SIZED("\x03\0h\0\xe9\0!\0"), "h\xc3\xa9!" },
		{ SIZED("\xc4\x02"), SIZED("\x02\0hi"), "hi" },
		{ SIZED("\xa4\x02\x02\0"), SIZED("hi"), "hi" },
		{ SIZED("\xc4\x03"), SIZED("\x02\0\x01\0"), "1,0" },
		{ SIZED("\xc6\x07"), SIZED("\x01\0\0\x50"), "80" },
		{ SIZED("\x40"), SIZED("\xff\xff"), "" }, /* 65535 times nothing */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_tracelogging_cache *cache = cache_new();
		struct etw_text body = { 0 }, payload = { 0 }, expected = { 0 };

		/* The field before shows offsets, the one behind that all was stepped over. */
		text_add(&body, SIZED("E\0b\0\x04v\0"));
		text_add(&body, cases[i].types, cases[i].types_size);
		text_add(&body, SIZED("e\0\x06"));
		text_add(&payload, "\x11", 1);
		text_add(&payload, cases[i].bytes, cases[i].size);
		text_add(&payload, "\x22\x01", 2);
		text_add_format(&expected, "b=17 v=%s e=290", cases[i].text);
		assert_values(schema_of(cache, body.data, body.size), payload.data, payload.size,
			      expected.data, 0);
		text_free(&body);
		text_free(&payload);
		text_free(&expected);
		etw_tracelogging_cache_free(cache);
	}
}

/* TraceLoggingCustom() of TraceLoggingProvider.h: the number of a protocol in the place of a type,
 * in the metadata a size and so many bytes, in the payload a count of bytes and the bytes. */
static void a_field_of_a_custom_serializer_does_not_hide_those_behind_it(void **state)
{
	static const struct {
		const char *types;
		size_t types_size;
	} cases[] = {
		{ SIZED("\x61\x03\0\x04\x05\x06") },
		{ SIZED("\x60\0\0") },
		{ SIZED("\x78\x01\0\xff") },                 /* not a structure */
		{ SIZED("\x7f\x02\0\0\0") },                 /* no type that we know */
		{ SIZED("\xe1\x80\x81\x02\x02\0\xaa\xbb") }, /* with tags */
		{ SIZED("\xe1\x03\x01\0\xaa") },             /* an out-type means nothing */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_tracelogging_cache *cache = cache_new();
		struct etw_text body = { 0 };
		const struct etw_schema *schema;

		text_add(&body, SIZED("E\0b\0\x04v\0"));
		text_add(&body, cases[i].types, cases[i].types_size);
		text_add(&body, SIZED("e\0\x06"));
		schema = schema_of(cache, body.data, body.size);
		assert_values(schema, SIZED("\x11\x03\0\xde\xad\x01\x22\x01"),
			      "b=17 v=dead01 e=290", 0);
		assert_values(schema, SIZED("\x11\0\0\x22\x01"), "b=17 v= e=290", 0);
		text_free(&body);
		etw_tracelogging_cache_free(cache);
	}
}

static void fields_of_one_name_get_numbers(void **state)
{
	static const struct {
		const char *body;
		size_t size;
		const char *bytes;
		const char *text;
	} cases[] = {
		{ SIZED("E\0" FIELD("n", "\x04") FIELD("n", "\x04")), "\1\2", "n=1 n_2=2" },
		{ SIZED("E\0" FIELD("n", "\x04") FIELD("m", "\x04") FIELD("n", "\x04")
				FIELD("m", "\x04") FIELD("n", "\x04")),
		  "\1\2\3\4\5", "n=1 m=2 n_2=3 m_2=4 n_3=5" },
		/* The name with a number is another field's already. */
		{ SIZED("E\0" FIELD("n", "\x04") FIELD("n", "\x04") FIELD("n_2", "\x04")), "\1\2\3",
		  "n=1 n_3=2 n_2=3" },
		{ SIZED("E\0" FIELD("n_2", "\x04") FIELD("n", "\x04") FIELD("n", "\x04")
				FIELD("n_2", "\x04")),
		  "\1\2\3\4", "n_2=1 n=2 n_3=3 n_2_2=4" },
		/* Each structure has its own names; of members, too, both are kept. */
		{ SIZED("E\0" FIELD("n", "\x04") FIELD("s", "\x98\x02") FIELD("n", "\x04")
				FIELD("n", "\x04") FIELD("s", "\x98\x01") FIELD("n", "\x04")),
		  "\1\2\3\4", "n=1 s={n=2 n_2=3} s_2={n=4}" },
		{ SIZED("E\0" FIELD("", "\x04") FIELD("", "\x04")), "\1\2", "=1 _2=2" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_tracelogging_cache *cache = cache_new();

		assert_values(schema_of(cache, cases[i].body, cases[i].size), cases[i].bytes,
			      strlen(cases[i].bytes), cases[i].text, 0);
		etw_tracelogging_cache_free(cache);
	}
}

static void structures_in_arrays_and_arrays_in_structures(void **state)
{
	static const char body[] = "E\0" FIELD("st", "\xd8\x03") FIELD("x", "\x07")
		FIELD("in", "\x98\x01") FIELD("y", "\x02") FIELD("z", "\x44")
			FIELD("fixed", "\xb8\x01\x02\0") FIELD("w", "\x04") FIELD("last", "\x04");
	static const char payload[] = "\x02\0"
				      "\xfb\xff\xff\xffone\0\x02\0\x05\x06"
				      "\x06\0\0\0two\0\0\0"
				      "\x08\x09\x2a";
	struct etw_tracelogging_cache *cache = cache_new();
	const struct etw_schema *schema = schema_of(cache, SIZED(body));
	struct etw_record record = { .payload = (const uint8_t *)payload,
				     .payload_size = sizeof payload - 1,
				     .pointer_size = 8 };
	struct etw_field_slice slice;

	(void)state;
	assert_values(schema, SIZED(payload),
		      "st={x=-5 in={y=one} z=5,6}{x=6 in={y=two} z=} fixed={w=8}{w=9} last=42", 0);
	assert_int_equal(etw_schema_find_field(schema, "last"), 7);
	assert_true(etw_field_locate(schema, 7, &record, &slice));
	assert_true(etw_field_u64(&schema->fields[7], &slice) == 42);
	/* Members of arrays exist once for each element, so they cannot be found by name. */
	assert_int_equal(etw_schema_find_field(schema, "st.x"), -1);
	assert_false(etw_field_locate(schema, 1, &record, &slice));
	for (size_t size = 0; size < sizeof payload - 1; size++) {
		uint8_t *copy = exact_copy(payload, size);

		record.payload = copy;
		record.payload_size = (uint32_t)size;
		assert_false(etw_field_locate(schema, 7, &record, &slice));
		free(copy);
	}
	etw_tracelogging_cache_free(cache);
}

static void a_payload_may_end_early(void **state)
{
	static const char body[] = "E\0" FIELD("a", "\x06") FIELD("s", "\x98\x02")
		FIELD("b", "\x06") FIELD("c", "\x06");
	static const char payload[] = "\x01\0\x02\0\x03\0\x04";
	static const char *const expected[] = {
		"",
		"",
		"a=1 s={}",
		"a=1 s={}",
		"a=1 s={b=2}",
		"a=1 s={b=2}",
		"a=1 s={b=2 c=3}",
		"a=1 s={b=2 c=3}",
	};
	struct etw_tracelogging_cache *cache = cache_new();
	const struct etw_schema *schema = schema_of(cache, SIZED(body));

	(void)state;
	for (size_t size = 0; size < COUNT(expected); size++) {
		assert_values(schema, payload, size, expected[size], size == 7);
	}
	etw_tracelogging_cache_free(cache);
}

static void what_is_not_understood_ends_the_fields(void **state)
{
	static const struct {
		const char *body;
		size_t size;
		unsigned fields;
	} cases[] = {
		{ SIZED("E\0" FIELD("a", "\x04") FIELD("b", "\x1a") FIELD("c", "\x04")), 1 },
		{ SIZED("E\0" FIELD("a", "\x04") FIELD("b", "\x64") FIELD("c", "\x04")), 1 },
		{ SIZED("E\0" FIELD("a", "\x04") FIELD("b", "\x61\x09\0") FIELD("c", "\x04")), 1 },
		{ SIZED("E\0" FIELD("a", "\x04") FIELD("b", "\x24\x01")), 1 },
		{ SIZED("E\0" FIELD("a", "\x04") FIELD("b", "")), 1 },
		{ SIZED("E\0" FIELD("a", "\x04") "b"), 1 },
		{ SIZED("E\0" FIELD("a", "\x84\x83\x80")), 0 },
		/* A structure keeps the members in front of it, an array of structures nothing. */
		{ SIZED("E\0" FIELD("s", "\x98\x02") FIELD("a", "\x04") FIELD("b", "\x1f")), 2 },
		{ SIZED("E\0" FIELD("x", "\x04") FIELD("s", "\xd8\x02") FIELD("a", "\x04")
				FIELD("b", "\x1f")),
		  1 },
		/* Fewer members than promised. */
		{ SIZED("E\0" FIELD("s", "\x98\x7f") FIELD("a", "\x04")), 2 },
		{ SIZED("E\0" FIELD("s", "\x18") FIELD("a", "\x04")), 2 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_tracelogging_cache *cache = cache_new();
		const struct etw_schema *schema = schema_of(cache, cases[i].body, cases[i].size);

		assert_non_null(schema);
		assert_int_equal(schema->field_count, cases[i].fields);
		etw_tracelogging_cache_free(cache);
	}
}

static void metadata_without_a_name_has_no_schema(void **state)
{
	static const struct {
		const char *bytes;
		uint16_t size;
	} cases[] = {
		{ "", 0 },          { "\x03", 1 },        { "\x03\0", 2 },
		{ "\x03\0\0", 3 },  { "\x05\0\0E", 4 },   { "\x02\0\0E\0", 5 },
		{ "\0\0\0E\0", 5 }, { "\x04\0\0E\0", 5 }, { "\x05\0\x80\x80\x80", 5 },
	};
	struct etw_tracelogging_cache *cache = cache_new();

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t *copy = exact_copy(cases[i].bytes, cases[i].size);
		struct etw_extended_item item = { .type = 11, .size = cases[i].size, .data = copy };

		assert_null(etw_tracelogging_schema(cache, &item));
		free(copy);
	}
	etw_tracelogging_cache_free(cache);
}

static void hostile_metadata_is_bounded(void **state)
{
	struct etw_tracelogging_cache *cache = cache_new();
	struct etw_text body = { 0 }, deep = { 0 };
	const struct etw_schema *schema;
	static uint8_t payload[65535];
	struct etw_field_slice slice;
	struct etw_record record = { .payload = payload,
				     .payload_size = sizeof payload,
				     .pointer_size = 8 };

	(void)state;
	text_add(&body, SIZED("E\0"));
	for (unsigned i = 0; i < 5000; i++) {
		text_add(&body, SIZED(FIELD("a", "\x04")));
	}
	schema = schema_of(cache, body.data, body.size);
	assert_int_equal(schema->field_count, ETW_SCHEMA_FIELDS_MOST);
	assert_string_equal(schema->fields[1].name, "a_2");
	assert_string_equal(schema->fields[ETW_SCHEMA_FIELDS_MOST - 1].name, "a_1024");
	text_free(&body);

	/* Structures in structures: each has one, and then a byte. */
	text_add(&deep, SIZED("E\0"));
	for (unsigned i = 0; i < 200; i++) {
		text_add(&deep, SIZED(FIELD("s", "\x98\x02")));
	}
	schema = schema_of(cache, deep.data, deep.size);
	assert_int_equal(schema->field_count, ETW_SCHEMA_DEPTH_MOST);
	text_free(&deep);

	/* Arrays in arrays of which every element has a hundred members without bytes. */
	text_add(&body, SIZED("E\0" FIELD("s", "\xd8\x65")));
	for (unsigned i = 0; i < 100; i++) {
		text_add(&body, SIZED(FIELD("n", "\x00")));
	}
	text_add(&body, SIZED(FIELD("b", "\x04")));
	text_add(&body, SIZED(FIELD("e", "\x04")));
	schema = schema_of(cache, body.data, body.size);
	assert_int_equal(schema->field_count, 103);
	payload[0] = payload[1] = 0xff;
	assert_false(etw_field_locate(schema, 102, &record, &slice));
	payload[1] = 0;
	assert_true(etw_field_locate(schema, 102, &record, &slice));
	assert_ptr_equal(slice.at, payload + 2 + 255);
	text_free(&body);

	/* An array of nothing ends at once, for every count. */
	schema = schema_of(cache, SIZED("E\0" FIELD("s", "\xd8\x01") FIELD("n", "\x00")
						FIELD("e", "\x04")));
	payload[1] = 0xff;
	assert_true(etw_field_locate(schema, 2, &record, &slice));
	assert_ptr_equal(slice.at, payload + 2);
	etw_tracelogging_cache_free(cache);
}

static void schemas_are_cached_by_content_up_to_a_bound(void **state)
{
	struct etw_tracelogging_cache *cache = cache_new();
	const struct etw_schema *one = schema_of(cache, SIZED("E\0" FIELD("a", "\x04")));
	const struct etw_schema *other = schema_of(cache, SIZED("E\0" FIELD("a", "\x05")));
	unsigned made = 2;

	(void)state;
	assert_ptr_equal(schema_of(cache, SIZED("E\0" FIELD("a", "\x04"))), one);
	assert_ptr_not_equal(one, other);
	while (!etw_tracelogging_cache_full(cache) && made < 1000000) {
		char body[16] = "Eaaaaaaa";

		memcpy(body + 1, &made, sizeof made);
		for (unsigned i = 1; i < 8; i++) {
			body[i] = (char)('a' + (made >> 4 * (i - 1) & 15));
		}
		assert_non_null(schema_of(cache, body, 9));
		made++;
	}
	assert_true(made < 1000000);
	assert_null(schema_of(cache, SIZED("New\0")));
	assert_ptr_equal(schema_of(cache, SIZED("E\0" FIELD("a", "\x04"))), one);
	etw_tracelogging_cache_clear(cache);
	assert_non_null(schema_of(cache, SIZED("New\0")));
	etw_tracelogging_cache_free(cache);
}

/* Builds the layout of an event from its values; false with a sentence. */
static bool build(const char *event, const char *json, struct etw_payload *metadata,
		  struct json_document *document, const struct etw_json_value **fields,
		  struct etw_error *err)
{
	struct json_document name = { 0 };
	const struct etw_json_value *name_value = json_read(&name, event, strlen(event), NULL);
	bool built;

	assert_non_null(name_value);
	*fields = json_read(document, json, strlen(json), NULL);
	assert_non_null(*fields);
	etw_payload_init(metadata, 8);
	*err = (struct etw_error){ 0 };
	built = etw_tracelogging_build(name_value, *fields, metadata, err);
	json_document_done(&name);
	return built;
}

/* The values come back from a payload that is made of them. */
static void assert_built(const char *json, const char *expected)
{
	struct etw_tracelogging_cache *cache = cache_new();
	struct json_document document = { 0 };
	struct etw_extended_item item = { .type = ETW_EXTENDED_TRACELOGGING };
	const struct etw_json_value *fields;
	const struct etw_schema *schema;
	struct etw_payload metadata, out;
	struct etw_error err;

	if (!build("\"E\"", json, &metadata, &document, &fields, &err)) {
		fail_msg("%s", err.text);
	}
	item.data = metadata.bytes;
	item.size = (uint16_t)metadata.size;
	schema = etw_tracelogging_schema(cache, &item);
	assert_non_null(schema);
	assert_string_equal(schema->event, "E");
	etw_payload_init(&out, 8);
	if (!etw_encode_fields(schema, fields, 0, &out, &err)) {
		fail_msg("%s", err.text);
	}
	assert_values(schema, out.bytes, out.size, expected, 0);
	etw_payload_done(&out);
	etw_payload_done(&metadata);
	json_document_done(&document);
	etw_tracelogging_cache_free(cache);
}

static void assert_not_built(const char *event, const char *json, const char *sentence)
{
	struct json_document document = { 0 };
	const struct etw_json_value *fields;
	struct etw_payload metadata;
	struct etw_error err;

	assert_false(build(event, json, &metadata, &document, &fields, &err));
	assert_string_equal(err.text, sentence);
	etw_payload_done(&metadata);
	json_document_done(&document);
}

static void a_layout_is_built_for_values(void **state)
{
	static const struct {
		const char *json;
		const char *expected;
	} cases[] = {
		{ "{\"a\": 1, \"b\": -1, \"c\": 1.5, \"d\": true, \"e\": \"x\", \"f\": null}",
		  "a=1 b=-1 c=1.5 d=1 e=x f=" },
		{ "{\"n\": 18446744073709551615, \"m\": -9223372036854775808}",
		  "n=18446744073709551615 m=-9223372036854775808" },
		{ "{\"l\": [1, -1, 2], \"after\": 1}", "l=1,-1,2 after=1" },
		{ "{\"l\": [1, -1, 0.5], \"after\": 1}", "l=1,-1,0.5 after=1" },
		{ "{\"l\": [0.5, -1], \"after\": 1}", "l=0.5,-1 after=1" },
		{ "{\"l\": [], \"after\": 1}", "l= after=1" },
		{ "{\"l\": [\"a\", \"\", \"b\"], \"after\": 1}", "l=a,,b after=1" },
		{ "{\"l\": [true, false], \"after\": 1}", "l=1,0 after=1" },
		{ "{\"s\": {\"x\": 1, \"y\": {\"z\": \"t\"}}, \"after\": 1}",
		  "s={x=1 y={z=t}} after=1" },
		{ "{\"s\": [{\"x\": 1}, {\"x\": 2}], \"after\": 1}", "s={x=1}{x=2} after=1" },
		{ "{\"s\": {}, \"after\": 1}", "s={} after=1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		print_message("  %s\n", cases[i].json);
		assert_built(cases[i].json, cases[i].expected);
	}
}

/* {"s": {"s": … 1 … }} with a number of structures. */
static void nest(struct etw_text *json, unsigned levels)
{
	text_clear(json);
	for (unsigned i = 0; i <= levels; i++) {
		text_add_string(json, "{\"s\": ");
	}
	text_add_char(json, '1');
	for (unsigned i = 0; i <= levels; i++) {
		text_add_char(json, '}');
	}
}

/* A structure with a number of members. */
static void widen(struct etw_text *json, unsigned members)
{
	text_clear(json);
	text_add_string(json, "{\"s\": {");
	for (unsigned i = 0; i < members; i++) {
		text_add_format(json, "%s\"m%u\": 1", i > 0 ? ", " : "", i);
	}
	text_add_string(json, "}}");
}

/* The number of members is in seven bits; the depth is that of every schema. */
static void a_layout_that_no_metadata_can_say_is_refused(void **state)
{
	struct etw_text json = { 0 }, expected = { 0 };

	(void)state;
	nest(&json, 16);
	for (unsigned i = 0; i < 16; i++) {
		text_add_string(&expected, "s={");
	}
	text_add_string(&expected, "s=1");
	for (unsigned i = 0; i < 16; i++) {
		text_add_char(&expected, '}');
	}
	assert_built(json.data, expected.data);
	nest(&json, 17);
	assert_not_built("\"E\"", json.data,
			 "s: s: s: s: s: s: s: s: s: s: s: s: s: s: s: s: s: a structure has at "
			 "most 127 members and 16 levels");

	widen(&json, 127);
	text_clear(&expected);
	text_add_string(&expected, "s={");
	for (unsigned i = 0; i < 127; i++) {
		text_add_format(&expected, "%sm%u=1", i > 0 ? " " : "", i);
	}
	text_add_char(&expected, '}');
	assert_built(json.data, expected.data);
	widen(&json, 128);
	assert_not_built("\"E\"", json.data,
			 "s: a structure has at most 127 members and 16 levels");

	assert_not_built("\"E\"", "{\"a\": 1, \"l\": [[1]]}", "l: a list of lists has no type");
	assert_not_built("\"E\\u0000F\"", "{}", "a name cannot contain a NUL");
	text_clear(&json);
	text_add_string(&json, "{\"");
	for (unsigned i = 0; i < 65536; i++) {
		text_add_char(&json, 'a');
	}
	text_add_string(&json, "\": 1}");
	assert_not_built("\"E\"", json.data, "the names of its fields are too long");
	text_free(&json);
	text_free(&expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_layout_is_built_for_values),
		cmocka_unit_test(a_layout_that_no_metadata_can_say_is_refused),
		cmocka_unit_test(a_nested_structure_as_one_was_recorded),
		cmocka_unit_test(primitive_types_as_they_were_recorded),
		cmocka_unit_test(every_in_type),
		cmocka_unit_test(a_field_of_a_custom_serializer_does_not_hide_those_behind_it),
		cmocka_unit_test(fields_of_one_name_get_numbers),
		cmocka_unit_test(structures_in_arrays_and_arrays_in_structures),
		cmocka_unit_test(a_payload_may_end_early),
		cmocka_unit_test(what_is_not_understood_ends_the_fields),
		cmocka_unit_test(metadata_without_a_name_has_no_schema),
		cmocka_unit_test(hostile_metadata_is_bounded),
		cmocka_unit_test(schemas_are_cached_by_content_up_to_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
