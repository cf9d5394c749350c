/* SPDX-License-Identifier: MIT */
#include "config/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "config/nearest.h"
#include "tests/support/temporary.h"

static struct yaml_tree *open_text(const char *text, struct error *err)
{
	*err = (struct error){ 0 };
	return yaml_open_text("f.yaml", text, strlen(text), err);
}

static struct yaml_tree *open_good(const char *text)
{
	struct error err;
	struct yaml_tree *tree = open_text(text, &err);

	if (!tree) {
		fail_msg("%s", err.text);
	}
	return tree;
}

static void nodes_know_their_place(void **state)
{
	struct yaml_tree *tree = open_good("# comment\n"
					   "one: 1\n"
					   "two:\n"
					   "  - a\n"
					   "  - { b: 'quoted' }\n");
	const struct yaml_node *one = yaml_find(yaml_root(tree), "one");
	const struct yaml_node *two = yaml_find(yaml_root(tree), "two");
	const struct yaml_node *b;

	(void)state;
	assert_int_equal(yaml_root(tree)->type, YAML_MAP);
	assert_int_equal(yaml_root(tree)->size, 2);
	assert_string_equal(one->text, "1");
	assert_int_equal(one->line, 2);
	assert_int_equal(one->column, 6);
	assert_int_equal(one->key->column, 1);
	assert_false(one->quoted);
	assert_int_equal(two->type, YAML_LIST);
	assert_int_equal(two->size, 2);
	assert_null(two->first->key);
	assert_int_equal(two->first->line, 4);
	b = yaml_find(two->first->next, "b");
	assert_non_null(b);
	assert_true(b->quoted);
	assert_int_equal(b->line, 5);
	assert_int_equal(b->column, 10);
	assert_null(yaml_find(yaml_root(tree), "three"));
	yaml_close(tree);
}

static void an_empty_file_is_an_empty_map(void **state)
{
	static const char *const texts[] = { "", "# only a comment\n", "---\n", "---\n...\n" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct yaml_tree *tree = open_good(texts[i]);

		assert_int_equal(yaml_root(tree)->type, YAML_MAP);
		assert_int_equal(yaml_root(tree)->size, 0);
		yaml_close(tree);
	}
}

static void what_is_no_plain_yaml_is_refused_at_its_place(void **state)
{
	static const struct {
		const char *text;
		const char *error;
	} cases[] = {
		{ "a: &x 1\n", "f.yaml:1:4: anchors are not supported" },
		{ "a: &x [1]\n", "f.yaml:1:4: anchors are not supported" },
		{ "a: 1\nb: *x\n", "f.yaml:2:4: aliases are not supported" },
		{ "a: !!str 1\n", "f.yaml:1:4: tags are not supported" },
		{ "a: !x { b: 1 }\n", "f.yaml:1:4: tags are not supported" },
		{ "a: 1\n---\nb: 1\n", "f.yaml:2:1: a second document; one is allowed" },
		{ "a: 1\nb: 2\na: 3\n", "f.yaml:3:1: 'a' stands twice, first in line 1" },
		{ "[a]: 1\n", "f.yaml:1:1: a key must be text" },
		{ "? { a: 1 }\n: 2\n", "f.yaml:1:3: a key must be text" },
		{ "a: \"x\\0y\"\n", "f.yaml:1:4: text with a NUL in it" },
		{ "a: [1, 2\n", "f.yaml:2:1: did not find expected ',' or ']'" },
		{ "a: b: c\n", "f.yaml:1:5: mapping values are not allowed in this context" },
		{ "\ta: 1\n", "f.yaml:1:1: found character that cannot start any token" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error err;

		assert_null(open_text(cases[i].text, &err));
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(err.code, ERROR_CONFIG);
	}
}

static void depth_nodes_and_size_are_bounded(void **state)
{
	struct text text = { 0 };
	struct error err;
	struct yaml_tree *tree;

	(void)state;
	for (unsigned depth = 32; depth <= 33; depth++) {
		text_clear(&text);
		for (unsigned i = 0; i < depth; i++) {
			text_add_char(&text, '[');
		}
		for (unsigned i = 0; i < depth; i++) {
			text_add_char(&text, ']');
		}
		tree = open_text(text.data, &err);
		assert_int_equal(tree != NULL, depth == 32);
		yaml_close(tree);
	}
	assert_string_equal(err.text, "f.yaml:1:33: more than 32 levels");
	text_clear(&text);
	for (unsigned i = 0; i < 100000; i++) {
		text_add_string(&text, "- x\n");
	}
	assert_null(open_text(text.data, &err));
	assert_string_equal(err.text, "f.yaml:100000:3: more than 100000 nodes");
	text_clear(&text);
	text_add_string(&text, "#");
	for (unsigned i = 0; i < YAML_FILE_SIZE_MAX; i++) {
		text_add_char(&text, ' ');
	}
	assert_null(open_text(text.data, &err));
	assert_string_equal(err.text, "f.yaml: 1048577 bytes; a file may have 1 MiB");
	text_free(&text);
}

static void many_keys_are_still_told_apart(void **state)
{
	struct text text = { 0 };
	struct error err;
	struct yaml_tree *tree;

	(void)state;
	for (unsigned i = 0; i < 40000; i++) {
		text_add_format(&text, "k%u: 1\n", i);
	}
	tree = open_text(text.data, &err);
	assert_non_null(tree);
	assert_int_equal(yaml_root(tree)->size, 40000);
	yaml_close(tree);
	text_add_string(&text, "k39999: 1\n");
	assert_null(open_text(text.data, &err));
	assert_string_equal(err.text, "f.yaml:40001:1: 'k39999' stands twice, first in line 40000");
	text_free(&text);
}

static void files_are_read_and_named_in_errors(void **state)
{
	struct error err = { 0 };
	char path[TEMPORARY_PATH_SIZE];
	struct yaml_tree *tree;

	(void)state;
	temporary_path(path, "yaml");
	temporary_write(path, "a: on\n", 6);
	tree = yaml_open_file(path, "short", &err);
	assert_non_null(tree);
	assert_string_equal(yaml_name(tree), "short");
	yaml_close(tree);
	remove(path);
	assert_null(yaml_open_file(path, "short", &err));
	assert_memory_equal(err.text, "short: ", 7);
	assert_null(yaml_open_file("/", "root", &err));
	assert_memory_equal(err.text, "root: ", 6);
}

/* One value is read in different ways; what each makes of it. */
static void values_are_read_or_refused_with_a_reason(void **state)
{
	enum reading { NUMBER, SIZE, SWITCH };
	static const struct {
		const char *text;
		enum reading reading;
		uint64_t value;
		const char *error; /* NULL: read */
	} cases[] = {
		{ "v: 12", NUMBER, 12, NULL },
		{ "v: 0x10", NUMBER, 16, NULL },
		{ "v: 1001", NUMBER, 0, "f.yaml:1:4: v: 1001 is not from 1 to 1000" },
		{ "v: 0", NUMBER, 0, "f.yaml:1:4: v: 0 is not from 1 to 1000" },
		{ "v: -1", NUMBER, 0, "f.yaml:1:4: v: '-1' is not a number" },
		{ "v: 1.5", NUMBER, 0, "f.yaml:1:4: v: '1.5' is not a number" },
		{ "v: [1]", NUMBER, 0, "f.yaml:1:4: v: expected text, found a list" },
		{ "v: {a: 1}", NUMBER, 0, "f.yaml:1:4: v: expected text, found a map" },
		{ "v:", NUMBER, 0, "f.yaml:1:3: v: expected text, found nothing" },
		{ "v: 3", SIZE, 3, NULL },
		{ "v: 3KiB", SIZE, 3 << 10, NULL },
		{ "v: 3 MiB", SIZE, 3 << 20, NULL },
		{ "v: 2GiB", SIZE, UINT64_C(2) << 30, NULL },
		{ "v: 3MB", SIZE, 0, "f.yaml:1:4: v: '3MB' is not a size such as 64MiB" },
		{ "v: KiB", SIZE, 0, "f.yaml:1:4: v: 'KiB' is not a size such as 64MiB" },
		{ "v: 99999999999999GiB", SIZE, 0,
		  "f.yaml:1:4: v: 99999999999999GiB is not from 1 to 4294967296" },
		{ "v: on", SWITCH, 1, NULL },
		{ "v: off", SWITCH, 0, NULL },
		{ "v: true", SWITCH, 1, NULL },
		{ "v: false", SWITCH, 0, NULL },
		{ "v: yes", SWITCH, 0, "f.yaml:1:4: v: expected on or off, found 'yes'" },
		{ "v: 'on'", SWITCH, 0, "f.yaml:1:4: v: expected on or off, found 'on'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct yaml_tree *tree = open_good(cases[i].text);
		const struct yaml_node *v = yaml_find(yaml_root(tree), "v");
		struct error err = { 0 };
		uint64_t value = 77;
		bool on = false, good = false;

		switch (cases[i].reading) {
		case NUMBER:
			good = yaml_number(tree, v, "v", 1, 1000, &value, &err);
			break;
		case SIZE:
			good = yaml_size(tree, v, "v", 1, UINT64_C(4) << 30, &value, &err);
			break;
		case SWITCH:
			good = yaml_switch(tree, v, "v", &on, &err);
			value = good ? on : 77;
			break;
		}
		assert_int_equal(good, cases[i].error == NULL);
		assert_int_equal(value, good ? cases[i].value : 77);
		if (!good) {
			assert_string_equal(err.text, cases[i].error);
		}
		yaml_close(tree);
	}
}

static void an_unknown_word_meets_its_nearest(void **state)
{
	static const char *const words[] = { "event", "version", "where", "labels", NULL };
	static const struct {
		const char *text;
		const char *error;
	} cases[] = {
		{ "evnet: 1", "f.yaml:1:1: unknown key 'evnet'; did you mean 'event'?" },
		{ "Labels: 1", "f.yaml:1:1: unknown key 'Labels'; did you mean 'labels'?" },
		{ "lables: 1", "f.yaml:1:1: unknown key 'lables'; did you mean 'labels'?" },
		{ "frobnicate: 1",
		  "f.yaml:1:1: unknown key 'frobnicate'; known: event, version, where, labels" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct yaml_tree *tree = open_good(cases[i].text);
		struct error err = { 0 };

		assert_false(yaml_keys_are(tree, yaml_root(tree), words, &err));
		assert_string_equal(err.text, cases[i].error);
		yaml_close(tree);
	}
}

static void nearness_counts_letters(void **state)
{
	static const struct {
		const char *word, *known;
		bool near;
		unsigned distance;
	} cases[] = {
		{ "read", "read", true, 0 },
		{ "raed", "Read", true, 1 },
		{ "rea", "read", true, 1 },
		{ "reads", "read", true, 1 },
		{ "xyz", "read", false, 0 },
		{ "", "read", false, 0 },
		{ "TransfreSize", "TransferSize", true, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct nearest nearest = { .word = cases[i].word, .size = strlen(cases[i].word) };

		nearest_offer(&nearest, cases[i].known);
		assert_int_equal(nearest.best != NULL, cases[i].near);
		assert_int_equal(nearest.distance, cases[i].distance);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_know_their_place),
		cmocka_unit_test(an_empty_file_is_an_empty_map),
		cmocka_unit_test(what_is_no_plain_yaml_is_refused_at_its_place),
		cmocka_unit_test(depth_nodes_and_size_are_bounded),
		cmocka_unit_test(many_keys_are_still_told_apart),
		cmocka_unit_test(files_are_read_and_named_in_errors),
		cmocka_unit_test(values_are_read_or_refused_with_a_reason),
		cmocka_unit_test(an_unknown_word_meets_its_nearest),
		cmocka_unit_test(nearness_counts_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
