/* SPDX-License-Identifier: MIT */
#include "config/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "config/yaml_rows.h"
#include "tests/support/temporary.h"

static struct yaml_tree *open_text(const char *text, struct etw_error *err)
{
	*err = (struct etw_error){ 0 };
	return yaml_open_text("f.yaml", text, strlen(text), NULL, err);
}

static struct yaml_tree *open_good(const char *text)
{
	struct etw_error err;
	struct yaml_tree *tree = open_text(text, &err);

	if (!tree) {
		fail_msg("%s", err.text);
	}
	return tree;
}

static void nodes_have_their_line_and_column(void **state)
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
		{ "%TAG !e! tag:x:\n---\na: 1\n", "f.yaml:1:1: tags are not supported" },
		{ "a: 1\n---\nb: 1\n", "f.yaml:2:1: a second document; only one is allowed" },
		{ "a: 1\nb: 2\na: 3\n", "f.yaml:3:1: 'a' appears twice, first in line 1" },
		{ "[a]: 1\n", "f.yaml:1:1: a key must be text" },
		{ "? { a: 1 }\n: 2\n", "f.yaml:1:3: a key must be text" },
		{ "a: \"x\\0y\"\n", "f.yaml:1:4: the text contains a NUL character" },
		{ "a: [1, 2\n",
		  "f.yaml:2:1: ',' or ']' is missing: the list that begins with '[' in "
		  "line 1 is still open here" },
		{ "a: b: c\n",
		  "f.yaml:1:5: a second ': ' in one entry: put text with ': ' in it in quotes, and "
		  "a key in a line of its own" },
		{ "\ta: 1\n", "f.yaml:1:1: a tab cannot indent YAML: use blanks" },
		{ "a:\n\tb: 1\n", "f.yaml:2:1: a tab cannot indent YAML: use blanks" },
		{ "a:\n  b: 1\n \tc: 2\n", "f.yaml:3:1: a tab cannot indent YAML: use blanks" },
		{ "a: @b\n",
		  "f.yaml:1:4: text cannot begin with this character: put it in quotes" },
		{ "a: 1\nb: 'x\nc: 2\n", "f.yaml:2:4: the quote that opens here is not closed" },
		{ "a: 1\nb: \"x\nc: 2\n", "f.yaml:2:4: the quote that opens here is not closed" },
		{ "a: 'x\nb: 'y'\n",
		  "f.yaml:1:4: the quote that opens here is closed in line 2 only: one is missing" },
		{ "a: [ 'x, 'y' ]\n",
		  "f.yaml:1:11: text after the closing quote: put all of it in quotes, with a "
		  "quote in it written twice" },
		{ "a: 'x' y\n",
		  "f.yaml:1:8: text after the closing quote: put all of it in quotes, with a "
		  "quote in it written twice" },
		{ "a: \"C:\\Windows\"\n",
		  "f.yaml:1:7: an unknown escape in double quotes: write \\\\ for \\, or use single "
		  "quotes" },
		{ "a: { b: 1\nc: 2\n",
		  "f.yaml:2:2: ',' or '}' is missing: the map that begins with '{' in "
		  "line 1 is still open here" },
		{ "a: 1\n  b: 2\n",
		  "f.yaml:2:4: a second ': ' in one entry: put text with ': ' in it "
		  "in quotes, and a key in a line of its own" },
		{ "a:\n  b: 1\n c: 2\n",
		  "f.yaml:3:2: expected a key, indented as the other keys of "
		  "the map that begins in line 1" },
		{ "a:\n  - 1\n  b: 2\n",
		  "f.yaml:3:3: expected '- ', indented as in the other lines "
		  "of the list that begins in line 2" },
		{ "a: 1\nbcd\ne: 2\n",
		  "f.yaml:2:1: this looks like a key, but no ':' and blank follow it" },
		{ "a: - 1\n", "f.yaml:1:4: '- ' begins a list, which is not allowed here: it needs a "
			      "line of its own below its key" },
		{ "a: \xff\n", "f.yaml:1:1: the file is not in UTF-8" },
		{ "a: \x01\n", "f.yaml:1:1: a control character, which YAML does not allow" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err;

		assert_null(open_text(cases[i].text, &err));
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
	}
}

struct shown {
	struct etw_text lines;
	unsigned warnings;
};

static void add_shown(void *context, const char *sentence, bool warning)
{
	struct shown *shown = context;

	text_add_format(&shown->lines, "%s\n", sentence);
	shown->warnings += warning;
}

/* That these are all problems, a line each. */
static void assert_problems(const struct problems *problems, const char *lines)
{
	struct shown shown = { 0 };

	problems_show(problems, add_shown, &shown);
	assert_string_equal(shown.lines.data ? shown.lines.data : "", lines);
	text_free(&shown.lines);
}

static void all_errors_of_the_subset_are_found_at_once(void **state)
{
	static const char text[] = "a: &x 1\nb: *x\na: !!str 2\nc: [1\n";
	struct problems problems = { 0 };
	struct etw_error err;

	(void)state;
	assert_null(yaml_open_text("f.yaml", text, strlen(text), &problems, &err));
	assert_string_equal(err.text, "f.yaml:1:4: anchors are not supported");
	assert_problems(&problems,
			"f.yaml:1:4: anchors are not supported\n"
			"f.yaml:2:4: aliases are not supported\n"
			"f.yaml:3:1: 'a' appears twice, first in line 1\n"
			"f.yaml:3:4: tags are not supported\n"
			"f.yaml:5:1: ',' or ']' is missing: the list that begins with '[' in "
			"line 4 is still open here\n");
	problems_done(&problems);
}

static void depth_nodes_and_size_are_bounded(void **state)
{
	struct etw_text text = { 0 };
	struct etw_error err;
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
	assert_string_equal(err.text, "f.yaml: has 1048577 bytes; at most 1 MiB is possible");
	text_free(&text);
}

static void many_keys_are_still_distinguished(void **state)
{
	struct etw_text text = { 0 };
	struct etw_error err;
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
	assert_string_equal(err.text,
			    "f.yaml:40001:1: 'k39999' appears twice, first in line 40000");
	text_free(&text);
}

static void files_are_read_and_named_in_errors(void **state)
{
	struct etw_error err = { 0 };
	char path[TEMPORARY_PATH_SIZE];
	struct yaml_tree *tree;

	(void)state;
	temporary_path(path, "yaml");
	temporary_write(path, "a: on\n", 6);
	tree = yaml_open_file(path, "short", NULL, &err);
	assert_non_null(tree);
	assert_string_equal(yaml_name(tree), "short");
	yaml_close(tree);
	remove(path);
	assert_null(yaml_open_file(path, "short", NULL, &err));
	assert_memory_equal(err.text, "short: ", 7);
	assert_null(yaml_open_file("/", "root", NULL, &err));
	assert_memory_equal(err.text, "root: ", 6);
}

static const char *const colours[] = { "red", "green", NULL };

/* A structure with a member of each type. */
struct shapes {
	const char *text;
	uint8_t byte;
	uint16_t half;
	uint64_t number, size, ms;
	double real;
	bool on;
	uint32_t colour;
	uint16_t list[3];
	size_t list_count;
	const char **names;
	size_t name_count;
	struct {
		uint32_t a, b;
	} within;
	const struct yaml_node *at;
	bool checked;
};

static bool check_shapes(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct shapes *shapes = base;

	shapes->checked = true;
	return shapes->within.a <= shapes->within.b || yaml_wrong(in, node, "a is above b");
}

static const struct yaml_shape small_shape = { .type = SHAPE_NUMBER, .least = 1, .most = 1000 };

static const struct yaml_row within_rows[] = {
	{ .key = "a", .shape = &small_shape, YAML_TO(struct shapes, within.a), .needs = "b" },
	{ .key = "b", .shape = &small_shape, YAML_TO(struct shapes, within.b), .fallback = "7" },
};

static const struct yaml_row rows[] = {
	{ .key = "text",
	  .shape = YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .most = 4),
	  YAML_TO(struct shapes, text),
	  .at = offsetof(struct shapes, at) },
	{ .key = "byte",
	  .shape = YAML_SHAPE(.type = SHAPE_NUMBER, .most = 255),
	  YAML_TO(struct shapes, byte) },
	{ .key = "half", .shape = &small_shape, YAML_TO(struct shapes, half) },
	{ .key = "number", .shape = &small_shape, YAML_TO(struct shapes, number) },
	{ .key = "size",
	  .shape = YAML_SHAPE(.type = SHAPE_SIZE, .least = 1, .most = UINT64_C(4) << 30),
	  YAML_TO(struct shapes, size) },
	{ .key = "ms",
	  .shape = YAML_SHAPE(.type = SHAPE_DURATION, .least = 5, .most = 60000),
	  YAML_TO(struct shapes, ms) },
	{ .key = "real", .shape = YAML_SHAPE(.type = SHAPE_REAL), YAML_TO(struct shapes, real) },
	{ .key = "on", .shape = &yaml_switch_shape, YAML_TO(struct shapes, on), .fallback = "on" },
	{ .key = "colour",
	  .shape = YAML_SHAPE(.type = SHAPE_WORD, .words = colours, .least = 5),
	  YAML_TO(struct shapes, colour),
	  .fallback = "red" },
	{ .key = "list",
	  .shape = YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .most = 3, .items = "numbers",
			      .item = &small_shape),
	  .in_place = true,
	  YAML_TO_LIST(struct shapes, list, list_count) },
	{ .key = "names",
	  .shape = YAML_SHAPE(.type = SHAPE_NAMES, .least = 1, .item = &yaml_scalar_shape),
	  YAML_TO_LIST(struct shapes, names, name_count) },
	{ .key = "within", .shape = YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(within_rows)) },
};

static const struct yaml_row needy_rows[] = {
	{ .key = "one", .shape = &yaml_scalar_shape },
	{ .key = "two", .shape = &yaml_scalar_shape, .required = true },
	{ .key = "three", .shape = &yaml_scalar_shape, .needs = "two" },
};

static const struct yaml_shape shapes_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(rows),
	.check = check_shapes,
};

static bool read_shapes(const struct yaml_shape *shape, struct yaml_tree *tree,
			struct shapes *shapes, struct etw_error *err)
{
	struct yaml_reader in = { .tree = tree, .err = err };

	*shapes = (struct shapes){ 0 };
	return yaml_read_root(&in, shape, "the test", shapes);
}

static void values_are_stored_where_their_rows_say(void **state)
{
	struct yaml_tree *tree = open_good("text: 12\nbyte: 0xff\nhalf: 1000\nnumber: 0x10\n"
					   "size: 3 MiB\nms: 2s\nreal: 2.5e1\non: off\n"
					   "colour: green\nlist: [3, 4]\nnames: { a: x, b: y }\n"
					   "within: { a: 2, b: 3 }\n");
	struct shapes shapes;
	struct etw_error err = { 0 };

	(void)state;
	if (!read_shapes(&shapes_shape, tree, &shapes, &err)) {
		fail_msg("%s", err.text);
	}
	assert_string_equal(shapes.text, "12");
	assert_int_equal(shapes.at->line, 1);
	assert_int_equal(shapes.byte, 255);
	assert_int_equal(shapes.half, 1000);
	assert_int_equal(shapes.number, 16);
	assert_int_equal(shapes.size, 3 << 20);
	assert_int_equal(shapes.ms, 2000);
	assert_true(shapes.real == 25);
	assert_false(shapes.on);
	assert_int_equal(shapes.colour, 6);
	assert_int_equal(shapes.list_count, 2);
	assert_int_equal(shapes.list[1], 4);
	assert_int_equal(shapes.name_count, 2);
	assert_string_equal(shapes.names[1], "y");
	assert_int_equal(shapes.within.a, 2);
	assert_int_equal(shapes.within.b, 3);
	assert_true(shapes.checked);
	yaml_close(tree);
}

static void absent_keys_have_their_fallbacks(void **state)
{
	struct yaml_tree *tree = open_good("");
	struct shapes shapes;

	(void)state;
	assert_true(read_shapes(&shapes_shape, tree, &shapes, NULL));
	assert_null(shapes.text);
	assert_true(shapes.on);
	assert_int_equal(shapes.colour, 5);
	assert_int_equal(shapes.within.b, 7);
	assert_int_equal(shapes.list_count, 0);
	assert_true(shapes.checked);
	yaml_close(tree);
}

static void values_that_have_not_the_shape_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "- 1", "f.yaml:1:1: the test: expected a map such as { a: b }, found a list" },
		{ "text: ''", "f.yaml:1:7: text: expected 1 to 4 bytes" },
		{ "text: 12345", "f.yaml:1:7: text: expected 1 to 4 bytes" },
		{ "text:", "f.yaml:1:6: text: expected text, found nothing" },
		{ "byte: 256", "f.yaml:1:7: byte: 256 is not from 0 to 255" },
		{ "number: 1001", "f.yaml:1:9: number: 1001 is not from 1 to 1000" },
		{ "number: 0", "f.yaml:1:9: number: 0 is not from 1 to 1000" },
		{ "number: -1", "f.yaml:1:9: number: '-1' is not a whole number from 0" },
		{ "number: 1.5", "f.yaml:1:9: number: '1.5' is not a whole number from 0" },
		{ "number: [1]", "f.yaml:1:9: number: expected text, found a list" },
		{ "number: {a: 1}", "f.yaml:1:9: number: expected text, found a map" },
		{ "number:", "f.yaml:1:8: number: expected text, found nothing" },
		{ "size: 3MB", "f.yaml:1:7: size: '3MB' is not a size such as 64MiB" },
		{ "size: KiB", "f.yaml:1:7: size: 'KiB' is not a size such as 64MiB" },
		{ "size: 99999999999999GiB",
		  "f.yaml:1:7: size: 99999999999999GiB is not from 1 to 4GiB" },
		{ "ms: 5", "f.yaml:1:5: ms: '5' is not a duration such as 30s, 5m or 24h" },
		{ "ms: 4ms", "f.yaml:1:5: ms: 4ms is not from 5ms to 1m" },
		{ "real: nan", "f.yaml:1:7: real: 'nan' is not a number" },
		{ "real: 1e999", "f.yaml:1:7: real: '1e999' is not a number" },
		{ "real: ''", "f.yaml:1:7: real: '' is not a number" },
		{ "on: yes", "f.yaml:1:5: on: expected on or off, found 'yes'" },
		{ "on: 'true'", "f.yaml:1:5: on: expected on or off, found 'true'" },
		{ "colour: gren", "f.yaml:1:9: unknown colour 'gren'; did you mean 'green'?" },
		{ "colour: blue", "f.yaml:1:9: unknown colour 'blue'; known: red, green" },
		{ "list: 1", "f.yaml:1:7: list: expected a list such as [a, b], found text" },
		{ "list: []", "f.yaml:1:7: list: from 1 to 3 numbers" },
		{ "list: [1, 2, 3, 4]", "f.yaml:1:7: list: from 1 to 3 numbers" },
		{ "list: [1, x]", "f.yaml:1:11: list: 'x' is not a whole number from 0" },
		{ "names: {}", "f.yaml:1:8: names: an empty list" },
		{ "names: { a: [] }", "f.yaml:1:13: a: expected text, found a list" },
		{ "within: 3", "f.yaml:1:9: within: expected a map such as { a: b }, found text" },
		{ "within: { a: 3 }", "f.yaml:1:11: 'a' is only allowed with 'b'" },
		{ "within: { a: 3, b: 2 }", "f.yaml:1:1: a is above b" },
		{ "wihtin: {}", "f.yaml:1:1: unknown key 'wihtin'; did you mean 'within'?" },
	};
	struct shapes shapes;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct yaml_tree *tree = open_good(cases[i].text);
		struct etw_error err = { 0 };

		assert_false(read_shapes(&shapes_shape, tree, &shapes, &err));
		assert_string_equal(err.text, cases[i].error);
		yaml_close(tree);
	}
}

static void all_errors_of_a_file_are_found_at_once(void **state)
{
	static const char text[] = "byte: 256\nnumber: x\nlist: [1, y, 1001]\n"
				   "within: { a: 0, b: 2000 }\ncolur: red\non: maybe\n";
	struct problems problems = { 0 };
	struct shapes shapes;
	struct etw_error err = { 0 };
	struct yaml_tree *tree = yaml_open_text("f.yaml", text, strlen(text), &problems, &err);

	(void)state;
	assert_false(read_shapes(&shapes_shape, tree, &shapes, &err));
	assert_string_equal(err.text, "f.yaml:1:7: byte: 256 is not from 0 to 255");
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
	assert_problems(&problems, "f.yaml:1:7: byte: 256 is not from 0 to 255\n"
				   "f.yaml:2:9: number: 'x' is not a whole number from 0\n"
				   "f.yaml:3:11: list: 'y' is not a whole number from 0\n"
				   "f.yaml:3:14: list: 1001 is not from 1 to 1000\n"
				   "f.yaml:4:14: a: 0 is not from 1 to 1000\n"
				   "f.yaml:4:20: b: 2000 is not from 1 to 1000\n"
				   "f.yaml:5:1: unknown key 'colur'; did you mean 'colour'?\n"
				   "f.yaml:6:5: on: expected on or off, found 'maybe'\n");
	assert_false(shapes.checked);
	yaml_close(tree);
	problems_done(&problems);
}

static void a_misspelt_key_is_not_missing_too(void **state)
{
	static const struct yaml_shape shape = { .type = SHAPE_MAP, YAML_ROWS(needy_rows) };
	static const char text[] = "tow: 1\nthree: 1\n";
	struct problems problems = { 0 };
	struct shapes shapes;
	struct yaml_tree *tree = yaml_open_text("f.yaml", text, strlen(text), &problems, NULL);

	(void)state;
	assert_false(read_shapes(&shape, tree, &shapes, NULL));
	assert_problems(&problems, "f.yaml:1:1: unknown key 'tow'; did you mean 'two'?\n");
	yaml_close(tree);
	problems_done(&problems);
}

static void many_problems_are_counted_and_files_stand_in_their_order(void **state)
{
	struct problems problems = { 0 };
	struct shown shown = { 0 };
	struct etw_error err = { 0 };
	char sentence[32];

	(void)state;
	assert_int_equal(problems_new_file(&problems), 0);
	assert_int_equal(problems_new_file(&problems), 1);
	for (unsigned line = 30; line > 0; line--) {
		for (unsigned file = 2; file > 0; file--) {
			struct problem place = { .file = file - 1, .line = line };

			snprintf(sentence, sizeof sentence, "f%u:%u", file - 1, line);
			problems_add(&problems, &place, sentence);
			problems_add(&problems, &place, sentence);
		}
	}
	assert_int_equal(problems.count, 60);
	problems_show(&problems, add_shown, &shown);
	assert_memory_equal(shown.lines.data, "f0:1\nf0:2\nf0:3\n", 15);
	assert_non_null(strstr(shown.lines.data, "\nf0:20\nand 40 more\n"));
	text_free(&shown.lines);
	for (unsigned line = 1; line <= 2000; line++) {
		snprintf(sentence, sizeof sentence, "f2:%u", line);
		problems_add(&problems, &(struct problem){ .file = 2, .line = line }, sentence);
	}
	assert_int_equal(problems.count, PROBLEMS_KEPT);
	assert_int_equal(problems.errors, 2060);
	problems_show(&problems, add_shown, &shown);
	assert_non_null(strstr(shown.lines.data, "\nand 2040 more\n"));
	text_free(&shown.lines);
	problems_done(&problems);

	problems_add(&problems, &(struct problem){ .line = 2, .warning = true }, "f:2: warning: w");
	assert_false(problems_first_error(&problems, &err));
	problems_add(&problems, &(struct problem){ .line = 3 }, "f:3: e");
	problems_add(&problems, &(struct problem){ .line = 3 }, "f:3: e");
	problems_first_error(&problems, &err);
	assert_string_equal(err.text, "f:3: e");
	assert_int_equal(problems.errors, 1);
	assert_problems(&problems, "f:2: warning: w\nf:3: e\n");
	problems_done(&problems);
}

static void numbers_with_units_are_multiplied(void **state)
{
	static const struct {
		const char *text;
		uint64_t size;
	} cases[] = {
		{ "size: 3", 3 },
		{ "size: 3KiB", 3 << 10 },
		{ "size: 3 MiB", 3 << 20 },
		{ "size: 2GiB", UINT64_C(2) << 30 },
	};
	struct shapes shapes;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct yaml_tree *tree = open_good(cases[i].text);

		assert_true(read_shapes(&shapes_shape, tree, &shapes, NULL));
		assert_int_equal(shapes.size, cases[i].size);
		yaml_close(tree);
	}
}

static void an_unknown_key_meets_its_nearest(void **state)
{
	static const struct yaml_row keys[] = {
		{ .key = "event", .shape = &yaml_scalar_shape },
		{ .key = "version", .shape = &yaml_scalar_shape },
		{ .key = "where", .shape = &yaml_scalar_shape },
		{ .key = "labels", .shape = &yaml_scalar_shape },
	};
	static const struct yaml_shape shape = { .type = SHAPE_MAP, YAML_ROWS(keys) };
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
	struct shapes shapes;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct yaml_tree *tree = open_good(cases[i].text);
		struct etw_error err = { 0 };

		assert_false(read_shapes(&shape, tree, &shapes, &err));
		assert_string_equal(err.text, cases[i].error);
		yaml_close(tree);
	}
}

static void a_key_that_must_be_there_is_named(void **state)
{
	static const struct yaml_shape shape = { .type = SHAPE_MAP, YAML_ROWS(needy_rows) };
	struct yaml_tree *tree = open_good("one: 1");
	struct etw_error err = { 0 };
	struct shapes shapes;

	(void)state;
	assert_false(read_shapes(&shape, tree, &shapes, &err));
	assert_string_equal(err.text, "f.yaml:1:1: the test: 'two' is missing");
	yaml_close(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_have_their_line_and_column),
		cmocka_unit_test(an_empty_file_is_an_empty_map),
		cmocka_unit_test(what_is_no_plain_yaml_is_refused_at_its_place),
		cmocka_unit_test(all_errors_of_the_subset_are_found_at_once),
		cmocka_unit_test(all_errors_of_a_file_are_found_at_once),
		cmocka_unit_test(a_misspelt_key_is_not_missing_too),
		cmocka_unit_test(many_problems_are_counted_and_files_stand_in_their_order),
		cmocka_unit_test(depth_nodes_and_size_are_bounded),
		cmocka_unit_test(many_keys_are_still_distinguished),
		cmocka_unit_test(files_are_read_and_named_in_errors),
		cmocka_unit_test(values_are_stored_where_their_rows_say),
		cmocka_unit_test(absent_keys_have_their_fallbacks),
		cmocka_unit_test(values_that_have_not_the_shape_are_refused_with_a_reason),
		cmocka_unit_test(numbers_with_units_are_multiplied),
		cmocka_unit_test(an_unknown_key_meets_its_nearest),
		cmocka_unit_test(a_key_that_must_be_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
