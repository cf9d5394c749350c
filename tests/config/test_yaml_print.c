/* SPDX-License-Identifier: MIT */
/*
 * Files printed by a table of their own, so that it is seen what each sort of row prints as.
 */
#include "config/yaml_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"

struct made_up {
	uint64_t number;
	const char *text;
	bool on;
};

static const char *const words[] = { "red", "green", NULL };

static const struct yaml_row inner_rows[] = {
	{ "number", YAML_NUMBER(0, 100), YAML_TO(struct made_up, number), .fallback = "7" },
	{ "no_default", YAML_NUMBER(0, 100), YAML_TO(struct made_up, number) },
};
static const struct yaml_row required_rows[] = {
	{ "must", YAML_NUMBER(0, 100), .required = true },
	{ "may", &yaml_scalar_shape, .fallback = ":a" },
};
static const struct yaml_row empty_rows[] = { { .key = "nothing", .shape = YAML_NUMBER(0, 1) } };
static const struct yaml_row rows[] = {
	{ "switch", &yaml_switch_shape, YAML_TO(struct made_up, on), .fallback = "off" },
	{ "word", YAML_WORDS(words), .fallback = "green" },
	{ .key = "list", .shape = YAML_SHAPE(.type = SHAPE_LIST, .item = &yaml_scalar_shape) },
	{ .key = "listed",
	  .shape = YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .item = YAML_MAP_OF(required_rows)) },
	{ .key = "names",
	  .shape = YAML_SHAPE(.type = SHAPE_NAMES, .item = YAML_MAP_OF(inner_rows)) },
	{ .key = "map", .shape = YAML_MAP_OF(inner_rows) },
	{ .key = "empty", .shape = YAML_MAP_OF(empty_rows) },
	{ "rare", &yaml_scalar_shape, .fallback = "x", .if_given = true },
	{ .key = "file", .shape = YAML_SHAPE(.type = SHAPE_TEXT, .path = true) },
	{ .key = "open", .shape = YAML_SHAPE(.type = SHAPE_OTHER) },
};
static const struct yaml_shape root_shape = { .type = SHAPE_MAP, YAML_ROWS(rows) };

static struct yaml_tree *open_tree(const char *text)
{
	struct etw_error err = { 0 };
	struct yaml_tree *tree = yaml_open_text("f.yaml", text, strlen(text), NULL, &err);

	if (!tree) {
		fail_msg("%s: %s", text, err.text);
	}
	return tree;
}

static void prints(const char *yaml, const struct yaml_overrides *overrides, const char *expected)
{
	struct yaml_tree *tree = open_tree(yaml);
	struct etw_text out = { 0 }, again = { 0 };

	yaml_print(&out, &root_shape, tree, overrides);
	assert_false(out.failed);
	assert_string_equal(out.data, expected);
	yaml_close(tree);
	tree = open_tree(out.data);
	yaml_print(&again, &root_shape, tree, NULL);
	assert_string_equal(again.data, expected);
	yaml_close(tree);
	text_free(&out);
	text_free(&again);
}

#define DEFAULTS "switch: off\nword: green\nlist: []\nnames: {}\nmap:\n  number: 7\n"

static void what_is_absent_has_its_default(void **state)
{
	(void)state;
	prints("", NULL, DEFAULTS);
}

static void what_is_there_stands_in_the_order_of_the_rows(void **state)
{
	(void)state;
	prints("rare: 5\n"
	       "map: { no_default: 0x10 }\n"
	       "names: { b: {}, 'a b': { number: 1 } }\n"
	       "list: [x, [y, []], {}]\n"
	       "listed: [{ must: 1 }, { may: \"\\e\", must: 2 }]\n"
	       "switch: true\n"
	       "open: { z: [{ y: 1, x: [2] }], w: { v: {} } }\n",
	       NULL,
	       "switch: true\n"
	       "word: green\n"
	       "list:\n  - x\n  -\n    - y\n    - []\n  - {}\n"
	       "listed:\n  - must: 1\n    may: ':a'\n  - must: 2\n    may: \"\\u001b\"\n"
	       "names:\n  b:\n    number: 7\n  'a b':\n    number: 1\n"
	       "map:\n  number: 7\n  no_default: 0x10\n"
	       "rare: 5\n"
	       "open:\n  z:\n    - y: 1\n      x:\n        - 2\n  w:\n    v: {}\n");
}

static void overrides_replace_what_the_file_says_and_what_it_lacks(void **state)
{
	const struct yaml_node nine = { .type = YAML_TEXT, .text = "9", .size = 1 };
	const struct yaml_node red = { .type = YAML_TEXT, .text = "red", .size = 3 };
	const struct yaml_override list[] = { { "map.number", &nine }, { "word", &red } };
	const struct yaml_overrides overrides = { .list = list, .count = 2 };

	(void)state;
	prints("word: green\n", &overrides,
	       "switch: off\nword: red\nlist: []\nnames: {}\nmap:\n  number: 9\n");
	/* Not the key of the same name in a map that the user names. */
	prints("names: { map: {} }\n", &overrides,
	       "switch: off\nword: red\nlist: []\nnames:\n  map:\n    number: 7\nmap:\n  number: 9\n");
}

/* Every text reads back as itself, as an item and as a key. */
static void any_text_reads_as_itself(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"a",
		"a b",
		"a: b",
		"a:",
		":a",
		"#",
		"a #b",
		"- a",
		"-",
		"---",
		"...",
		"?",
		"? a",
		"[",
		"]",
		"{",
		"}",
		",",
		"&a",
		"*a",
		"!a",
		"|",
		">",
		"'",
		"''",
		"\"",
		"%a",
		"@a",
		"`a",
		"~",
		"null",
		"on",
		"0x1f",
		"1e3",
		"a\nb",
		"\n",
		"\t",
		"a\rb",
		"\x01",
		"\x7f",
		"\xc2\x85",
		"\xc2\xa0",
		"\xe2\x80\xa8",
		"\xef\xbb\xbf",
		"\xef\xbf\xbf",
		"\xef\xbf\xbd",
		"\xf0\x9f\x98\x80",
		"C:\\x\\*",
		"\\",
		"a\\nb",
		"a\"b\\c\n",
		"\"\xe2\x80\xae\\",
		"'\t\"'",
		"\\\xef\xbb\xbf\\n\xf0\x9f\x98\x80",
		"\xef\xbf\xbe",
		"\xf3\xa0\x80\x81",
		"\xf4\x8f\xbf\xbf\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct yaml_node key = { .type = YAML_TEXT, .text = texts[i] };
		struct yaml_node item = { .type = YAML_TEXT, .text = texts[i] };
		struct yaml_node list = { .type = YAML_LIST, .size = 1, .first = &item };
		struct yaml_node value = { .type = YAML_MAP, .key = &key };
		const struct yaml_node map = { .type = YAML_MAP, .size = 1, .first = &value };
		const struct yaml_override both[] = { { "list", &list }, { "names", &map } };
		const struct yaml_overrides overrides = { .list = both, .count = 2 };
		struct yaml_tree *empty = open_tree(""), *tree;
		struct etw_text out = { 0 };

		key.size = item.size = strlen(texts[i]);
		yaml_print(&out, &root_shape, empty, &overrides);
		tree = open_tree(out.data);
		assert_string_equal(yaml_find(yaml_root(tree), "list")->first->text, texts[i]);
		assert_string_equal(yaml_find(yaml_root(tree), "names")->first->key->text,
				    texts[i]);
		yaml_close(tree);
		yaml_close(empty);
		text_free(&out);
	}
}

static void long_keys_read_as_themselves(void **state)
{
	enum { SIZE = 1023 };
	char long_key[SIZE + 1] = { 0 };
	struct yaml_node key = { .type = YAML_TEXT, .text = long_key, .size = SIZE };
	struct yaml_node value = { .type = YAML_MAP, .key = &key };
	const struct yaml_node map = { .type = YAML_MAP, .size = 1, .first = &value };
	const struct yaml_override override = { "names", &map };
	const struct yaml_overrides overrides = { .list = &override, .count = 1 };
	struct yaml_tree *empty = open_tree(""), *tree;
	struct etw_text out = { 0 };

	(void)state;
	memset(long_key, '\'', SIZE);
	yaml_print(&out, &root_shape, empty, &overrides);
	tree = open_tree(out.data);
	assert_string_equal(yaml_find(yaml_root(tree), "names")->first->key->text, long_key);
	yaml_close(tree);
	yaml_close(empty);
	text_free(&out);
}

static void paths_become_absolute(void **state)
{
	char *here = os_path_absolute("x y.yaml");
	struct yaml_tree *tree = open_tree("file: x y.yaml\n");
	struct etw_text out = { 0 }, expected = { 0 };

	(void)state;
	assert_non_null(here);
	text_add_format(&expected, DEFAULTS "file: '%s'\n", here);
	yaml_print(&out, &root_shape, tree, NULL);
	assert_string_equal(out.data, expected.data);
	yaml_close(tree);
	text_free(&out);
	text_free(&expected);
	free(here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_absent_has_its_default),
		cmocka_unit_test(what_is_there_stands_in_the_order_of_the_rows),
		cmocka_unit_test(overrides_replace_what_the_file_says_and_what_it_lacks),
		cmocka_unit_test(any_text_reads_as_itself),
		cmocka_unit_test(long_keys_read_as_themselves),
		cmocka_unit_test(paths_become_absolute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
