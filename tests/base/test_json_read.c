/* SPDX-License-Identifier: MIT */
/*
 * JSON as it is read: every type, escapes, and what is refused with which sentence.
 */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

static const struct etw_json_value *read_exact(struct json_document *document, const char *text,
					       struct etw_error *err)
{
	uint8_t *copy = exact_copy(text, strlen(text));
	const struct etw_json_value *root =
		json_read(document, (const char *)copy, strlen(text), err);

	free(copy);
	return root;
}

static void every_type_is_read(void **state)
{
	struct json_document document = { 0 };
	struct etw_error err = { 0 };
	const struct etw_json_value *root, *value;

	(void)state;
	root = read_exact(&document,
			  " {\"a\": [1, -2.5e+3, true], \"b\":{}, \"c\" : null,\"d\":\"x\"}\n",
			  &err);
	assert_non_null(root);
	assert_int_equal(root->type, JSON_OBJECT);
	assert_int_equal(root->count, 4);
	value = json_member(root, "a");
	assert_int_equal(value->type, JSON_ARRAY);
	assert_int_equal(value->count, 3);
	assert_string_equal(value->first->text, "1");
	assert_string_equal(value->first->next->text, "-2.5e+3");
	assert_int_equal(value->first->next->next->type, JSON_TRUE);
	assert_null(value->first->next->next->next);
	assert_int_equal(json_member(root, "b")->count, 0);
	assert_int_equal(json_member(root, "c")->type, JSON_NULL);
	assert_string_equal(json_member(root, "d")->text, "x");
	assert_null(json_member(root, "e"));
	assert_null(json_member(value, "a"));
	json_document_done(&document);
}

static void escapes_become_characters(void **state)
{
	struct json_document document = { 0 };
	struct etw_error err = { 0 };
	const struct etw_json_value *root;
	static const char expected[] = "\"\\/\b\f\n\r\t\xc3\xa4\0\xf0\x9f\x98\x80\xef\xbf\xbd.";

	(void)state;
	root = read_exact(&document,
			  "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00E4\\u0000\\ud83d\\ude00\\ud83d.\"",
			  &err);
	assert_non_null(root);
	assert_int_equal(root->size, sizeof expected - 1);
	assert_memory_equal(root->text, expected, sizeof expected);
	json_document_done(&document);
}

static void mistakes_are_named_with_their_place(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "", "expected a value at character 1" },
		{ "{\"a\":1", "expected a comma or } at character 7" },
		{ "{\"a\" 1}", "expected a colon at character 6" },
		{ "{a:1}", "expected a key in quotes at character 2" },
		{ "{\"a\":1,}", "expected a key in quotes at character 8" },
		{ "[1,]", "expected a value at character 4" },
		{ "[1 2]", "expected a comma or ] at character 4" },
		{ "\"a", "expected the closing quote of a text at character 3" },
		{ "\"a\nb\"", "expected the closing quote of a text at character 3" },
		{ "\"\\x\"", "expected an escape such as \\n or \\u00e4 at character 3" },
		{ "\"\\u12g4\"", "expected four hexadecimal digits at character 4" },
		{ "\"\xff\"", "expected valid UTF-8 at character 2" },
		{ "01", "expected the end of the text at character 2" },
		{ "1.", "expected a digit at character 3" },
		{ "-", "expected a value at character 2" },
		{ "nul", "expected a value at character 1" },
		{ "1 x", "expected the end of the text at character 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct json_document document = { 0 };
		struct etw_error err = { 0 };

		assert_null(read_exact(&document, cases[i].text, &err));
		assert_string_equal(err.text, cases[i].sentence);
		json_document_done(&document);
	}
}

static void depth_is_bounded(void **state)
{
	struct json_document document = { 0 };
	struct etw_error err = { 0 };
	char text[4096];

	(void)state;
	memset(text, '[', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	assert_null(read_exact(&document, text, &err));
	assert_string_equal(err.text, "expected fewer levels at character 66");
	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	text[128] = '\0';
	assert_non_null(read_exact(&document, text, &err));
	json_document_done(&document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_read),
		cmocka_unit_test(escapes_become_characters),
		cmocka_unit_test(mistakes_are_named_with_their_place),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests_name("json_read", tests, NULL, NULL);
}
