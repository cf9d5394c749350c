/* SPDX-License-Identifier: MIT */
/*
 * JSON: separators, escapes, numbers.
 */
#include "base/json.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void write_all_classes(struct json *json)
{
	json_object_begin(json);
	json_key(json, "text");
	json_text(json, "ab", 1);
	json_key(json, "string");
	json_string(json, "x");
	json_key(json, "none");
	json_string(json, NULL);
	json_key(json, "list");
	json_array_begin(json);
	json_u64(json, UINT64_MAX);
	json_i64(json, INT64_MIN);
	json_double(json, 0.5);
	json_bool(json, true);
	json_bool(json, false);
	json_null(json);
	json_object_begin(json);
	json_object_end(json);
	json_array_begin(json);
	json_array_end(json);
	json_array_end(json);
	json_key(json, "last");
	json_object_begin(json);
	json_key(json, "a");
	json_u64(json, 0);
	json_object_end(json);
	json_object_end(json);
}

static void commas_and_colons_are_added_automatically(void **state)
{
	struct etw_text text = { 0 };
	struct json json;

	(void)state;
	json_init(&json, &text, false);
	write_all_classes(&json);
	assert_string_equal(text.data,
			    "{\"text\":\"a\",\"string\":\"x\",\"none\":null,"
			    "\"list\":[18446744073709551615,-9223372036854775808,0.5,true,false,"
			    "null,{},[]],\"last\":{\"a\":0}}");
	text_clear(&text);
	json_init(&json, &text, true);
	write_all_classes(&json);
	assert_string_equal(
		text.data,
		"{\"text\": \"a\", \"string\": \"x\", \"none\": null, "
		"\"list\": [18446744073709551615, -9223372036854775808, 0.5, true, false, "
		"null, {}, []], \"last\": {\"a\": 0}}");
	text_free(&text);
}

static void nesting_may_be_32_deep(void **state)
{
	struct etw_text text = { 0 };
	struct json json;

	(void)state;
	json_init(&json, &text, false);
	for (unsigned depth = 0; depth < 32; depth++) {
		json_array_begin(&json);
		json_u64(&json, depth % 10);
	}
	for (unsigned depth = 0; depth < 32; depth++) {
		json_array_end(&json);
	}
	assert_string_equal(text.data,
			    "[0,[1,[2,[3,[4,[5,[6,[7,[8,[9,[0,[1,[2,[3,[4,[5,[6,[7,[8,[9,"
			    "[0,[1,[2,[3,[4,[5,[6,[7,[8,[9,[0,[1"
			    "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
	text_free(&text);
}

static void text_is_escaped_and_valid(void **state)
{
	static const struct {
		const char *text;
		const char *written;
	} cases[] = {
		{ "", "\"\"" },
		{ "C:\\a \"b\" /c", "\"C:\\\\a \\\"b\\\" /c\"" },
		{ "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
		{ "\x01\x1b\x1f", "\"\\u0001\\u001b\\u001f\"" },
		{ "\x7f\xc2\x9b", "\"\\u007f\\u009b\"" },
		{ "a\xe2\x80\xae"
		  "b\xe2\x80\x8b\xef\xbb\xbf",
		  "\"a\\u202eb\\u200b\\ufeff\"" },
		{ "caf\xc3\xa9 \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"" },
		{ "caf\xe9.", "\"caf\xef\xbf\xbd.\"" },
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xef\xbf\xbd", "\"\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text text = { 0 };
		struct json json;

		json_init(&json, &text, false);
		json_string(&json, cases[i].text);
		assert_string_equal(text.data, cases[i].written);
		text_free(&text);
	}
}

static void a_nul_byte_is_escaped_and_a_key_too(void **state)
{
	struct etw_text text = { 0 };
	struct json json;

	(void)state;
	json_init(&json, &text, false);
	json_object_begin(&json);
	json_key(&json, "a\"b");
	json_text(&json, "x\0y", 3);
	json_object_end(&json);
	assert_string_equal(text.data, "{\"a\\\"b\":\"x\\u0000y\"}");
	text_free(&text);
}

static void doubles_are_as_short_as_they_read_back(void **state)
{
	static const struct {
		double value;
		const char *written;
	} cases[] = {
		{ 0.0, "0" },
		{ -0.0, "-0" },
		{ 1.0, "1" },
		{ 0.1, "0.1" },
		{ 0.3, "0.3" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 100000, "100000" },
		{ 1e100, "1e+100" },
		{ 1700000000.123, "1700000000.123" },
		{ 9007199254740993.0, "9007199254740992" },
		{ DBL_MAX, "1.7976931348623157e+308" },
		{ DBL_MIN, "2.2250738585072014e-308" },
		{ 4.9406564584124654e-324, "5e-324" },
		{ NAN, "null" },
		{ INFINITY, "null" },
		{ -INFINITY, "null" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text text = { 0 };
		struct json json;

		json_init(&json, &text, false);
		json_double(&json, cases[i].value);
		assert_string_equal(text.data, cases[i].written);
		text_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_colons_are_added_automatically),
		cmocka_unit_test(nesting_may_be_32_deep),
		cmocka_unit_test(text_is_escaped_and_valid),
		cmocka_unit_test(a_nul_byte_is_escaped_and_a_key_too),
		cmocka_unit_test(doubles_are_as_short_as_they_read_back),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
