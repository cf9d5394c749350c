/* SPDX-License-Identifier: MIT */
/*
 * Writes config/schema.json, the JSON Schema of configurations and collectors, to standard output.
 *
 * It expresses the tables of config/yaml_rows.h as JSON Schema. After a change of a table:
 * build/release/make_schema >config/schema.json
 *
 * A shape with a name is written once, below $defs, and other places refer to it. Rules that no
 * table can express, such as which keys exclude each other, are JSON in the shape itself.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "config/config.h"
#include "config/yaml_rows.h"
#include "exporter/rules/language/collector.h"

enum { DEFINITIONS_MAX = 64 };

/* The named shapes, in the order in which they are met. */
static const struct yaml_shape *definitions[DEFINITIONS_MAX];
static size_t definition_count;

static struct etw_text out;
static unsigned depth;

static void write_value(const struct yaml_shape *shape, const struct yaml_row *row);

static void define(const struct yaml_shape *shape)
{
	for (size_t i = 0; i < definition_count; i++) {
		if (strcmp(definitions[i]->name, shape->name) == 0) {
			return;
		}
	}
	if (definition_count < DEFINITIONS_MAX) {
		definitions[definition_count++] = shape;
	}
}

static void write_string(const char *string)
{
	text_add_char(&out, '"');
	for (const char *at = string; *at != '\0'; at++) {
		if (*at == '"' || *at == '\\') {
			text_add_char(&out, '\\');
		}
		text_add_char(&out, *at);
	}
	text_add_char(&out, '"');
}

/* JSON that is written with ' in place of ". */
static void write_raw(const char *json)
{
	for (const char *at = json; *at != '\0'; at++) {
		text_add_char(&out, *at == '\'' ? '"' : *at);
	}
}

/* The beginning of a member; *first: whether it is the first of its object. */
static void begin_member(const char *name, bool *first)
{
	text_add_string(&out, *first ? " " : ", ");
	*first = false;
	if (name) {
		write_string(name);
		text_add_string(&out, ": ");
	}
}

static void begin_line(bool *first)
{
	text_add_string(&out, *first ? "\n" : ",\n");
	*first = false;
	for (unsigned i = 0; i < depth; i++) {
		text_add_string(&out, "  ");
	}
}

static bool says(const char *json, const char *member)
{
	char quoted[64];
	unsigned level = 0;

	/* Of the object itself, not of one within. */
	snprintf(quoted, sizeof quoted, "'%s':", member);
	for (const char *at = json ? json : ""; *at != '\0'; at++) {
		level += *at == '{' || *at == '[';
		level -= *at == '}' || *at == ']';
		if (level == 0 && strncmp(at, quoted, strlen(quoted)) == 0) {
			return true;
		}
	}
	return false;
}

static void write_string_member(const char *name, const char *value, bool *first)
{
	if (value) {
		begin_member(name, first);
		write_string(value);
	}
}

static void write_number_member(const char *name, uint64_t value, bool *first)
{
	begin_member(name, first);
	text_add_u64(&out, value);
}

static void write_type(const char *types, const struct yaml_shape *shape, bool *first)
{
	if (!says(shape->json, "type")) {
		begin_member("type", first);
		write_raw(types);
	}
}

static void write_bounds(const struct yaml_shape *shape, const char *least, const char *most,
			 bool *first)
{
	bool number = shape->type == SHAPE_NUMBER || shape->type == SHAPE_SIZE;

	if (number || shape->least > 0) {
		write_number_member(least, shape->least, first);
	}
	if (number || shape->most > 0) {
		write_number_member(most, shape->most, first);
	}
}

static void write_words(const struct yaml_shape *shape, bool *first)
{
	const char *word;

	begin_member("enum", first);
	for (size_t i = 0; (word = yaml_word_at(shape, i)) != NULL; i++) {
		text_add_string(&out, i > 0 ? ", " : "[");
		write_string(word);
	}
	text_add_char(&out, ']');
}

/* Words, or others that the file itself declares. */
static void write_words_or_pattern(const struct yaml_shape *shape, bool *first)
{
	bool first_word = true, first_pattern = true;

	begin_member("anyOf", first);
	text_add_string(&out, "[{");
	write_words(shape, &first_word);
	text_add_string(&out, " }, {");
	begin_member("type", &first_pattern);
	write_raw("'string'");
	write_string_member("pattern", shape->pattern, &first_pattern);
	text_add_string(&out, " }]");
}

static void write_fallback(const struct yaml_row *row, bool *first)
{
	uint64_t number;

	begin_member("default", first);
	if (row->shape->type == SHAPE_LIST) {
		text_add_char(&out, '[');
		write_string(row->fallback);
		text_add_char(&out, ']');
	} else if (parse_u64(row->fallback, strlen(row->fallback), &number)) {
		text_add_u64(&out, number);
	} else {
		write_string(row->fallback);
	}
}

/* In words that older editors know: dependentRequired is newer than draft-07. */
static void write_needs(const struct yaml_shape *shape, bool *first)
{
	bool none = true;

	for (size_t i = 0; i < shape->row_count; i++) {
		if (!shape->rows[i].needs) {
			continue;
		}
		if (none) {
			begin_member("allOf", first);
		}
		text_add_string(&out, none ? "[" : ", ");
		none = false;
		write_raw("{ 'if': { 'required': [");
		write_string(shape->rows[i].key);
		write_raw("] }, 'then': { 'required': [");
		write_string(shape->rows[i].needs);
		write_raw("] } }");
	}
	text_add_string(&out, none ? "" : "]");
}

static void write_rows(const struct yaml_shape *shape, bool *first)
{
	bool first_row = true, first_required = true;

	begin_member("additionalProperties", first);
	text_add_string(&out, "false");
	for (size_t i = 0; i < shape->row_count && !says(shape->json, "required"); i++) {
		if (shape->rows[i].required) {
			if (first_required) {
				begin_member("required", first);
			}
			text_add_string(&out, first_required ? "[" : ", ");
			first_required = false;
			write_string(shape->rows[i].key);
		}
	}
	text_add_string(&out, first_required ? "" : "]");
	write_needs(shape, first);
	begin_member("properties", first);
	text_add_char(&out, '{');
	depth++;
	for (const struct yaml_row *row = shape->rows; row < shape->rows + shape->row_count;
	     row++) {
		begin_line(&first_row);
		write_string(row->key);
		text_add_string(&out, ": ");
		write_value(row->shape, row);
	}
	depth--;
	first_row = true;
	begin_line(&first_row);
	text_add_char(&out, '}');
}

/* ---- numbers with units, as regular expressions ---- */

static uint64_t nines(unsigned digits)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < digits; i++) {
		number = number * 10 + 9;
	}
	return number;
}

/*
 * Matches the numbers from least to most, all written with so many digits. Numbers with the same
 * first digit as one of the bounds are matched apart, unless they are all within.
 */
static void write_range(uint64_t least, uint64_t most, unsigned digits)
{
	const uint64_t rest = nines(digits - 1), unit = rest + 1;
	uint64_t from = least / unit, to = most / unit;
	bool low = least % unit != 0, high = most % unit != rest;

	if (least == most) {
		text_add_format(&out, "%0*llu", (int)digits, (unsigned long long)least);
		return;
	}
	if (digits == 1) {
		text_add_format(&out, "[%u-%u]", (unsigned)least, (unsigned)most);
		return;
	}
	if (from == to && (low || high)) {
		text_add_u64(&out, from);
		text_add_char(&out, '(');
		write_range(least % unit, most % unit, digits - 1);
		text_add_char(&out, ')');
		return;
	}
	if (low) {
		write_range(least, from * unit + rest, digits);
		from++;
	}
	if (from + (high ? 1 : 0) <= to) {
		text_add_string(&out, low ? "|" : "");
		write_range(from, high ? to - 1 : to, 1);
		text_add_format(&out, digits == 2 ? "[0-9]" : "[0-9]{%u}", digits - 1);
	}
	if (high) {
		text_add_char(&out, '|');
		write_range(to * unit, most, digits);
	}
}

/* Decimal numbers of a unit that is so many times the unit of the bounds. */
static void write_unit(const struct yaml_shape *shape, uint64_t times, const char *unit,
		       bool *first)
{
	uint64_t multiple = shape->multiple > times ? shape->multiple / times : 1;
	uint64_t least = (shape->least + times * multiple - 1) / (times * multiple);
	uint64_t most = shape->most / (times * multiple);
	bool first_range = true;

	if (most == 0) {
		return;
	}
	text_add_string(&out, *first ? "0*(" : "|0*(");
	*first = false;
	for (unsigned digits = 1; digits == 1 || nines(digits - 1) < most; digits++) {
		uint64_t low = digits == 1 ? 0 : nines(digits - 1) + 1, high = nines(digits);

		low = low < least ? least : low;
		high = high > most ? most : high;
		if (low <= high) {
			text_add_string(&out, first_range ? "" : "|");
			first_range = false;
			write_range(low, high, digits);
		}
	}
	text_add_char(&out, ')');
	/* A multiple of 1000 in a decimal number. */
	text_add_string(&out, multiple == 1000 ? "000" : "");
	text_add_string(&out, unit);
}

/* Of hexadecimal numbers the form only. */
static void write_quantity(const struct yaml_shape *shape, bool *first)
{
	static const struct {
		uint64_t times;
		const char *unit;
	} sizes[] = { { 1 << 10, " *KiB" }, { 1 << 20, " *MiB" }, { 1 << 30, " *GiB" } },
	  durations[] = { { 1, "ms" }, { 1000, "s" }, { 60000, "m" }, { 3600000, "h" } };
	bool is_size = shape->type == SHAPE_SIZE, first_unit = true;

	begin_member("pattern", first);
	text_add_string(&out, "\"^(");
	for (size_t i = 0; i < (is_size ? 3 : 4); i++) {
		if (is_size) {
			write_unit(shape, sizes[i].times, sizes[i].unit, &first_unit);
		} else {
			write_unit(shape, durations[i].times, durations[i].unit, &first_unit);
		}
	}
	text_add_format(&out, "|0[xX][0-9a-fA-F]+%s)$\"", is_size ? " *[KMG]iB" : "(ms|[smh])");
}

/* What the type of a shape says. */
static void write_for_type(const struct yaml_shape *shape, bool *first)
{
	switch (shape->type) {
	case SHAPE_TEXT:
		/* A pattern is compared with strings only. */
		write_type(shape->pattern && !shape->any_scalar ? "'string'" :
								  "['string', 'number', 'boolean']",
			   shape, first);
		write_bounds(shape, "minLength", "maxLength", first);
		break;
	case SHAPE_NUMBER:
		write_type("'integer'", shape, first);
		write_bounds(shape, "minimum", "maximum", first);
		break;
	case SHAPE_REAL:
		write_type("'number'", shape, first);
		break;
	case SHAPE_SIZE:
		write_type("['integer', 'string']", shape, first);
		write_bounds(shape, "minimum", "maximum", first);
		if (shape->multiple > 0) {
			write_number_member("multipleOf", shape->multiple, first);
		}
		write_quantity(shape, first);
		break;
	case SHAPE_DURATION:
		write_type("'string'", shape, first);
		write_quantity(shape, first);
		break;
	case SHAPE_SWITCH:
		begin_member("enum", first);
		write_raw("[true, false, 'on', 'off']");
		break;
	case SHAPE_WORD:
		if (shape->pattern) {
			write_words_or_pattern(shape, first);
		} else {
			write_words(shape, first);
		}
		break;
	case SHAPE_LIST:
		write_type("'array'", shape, first);
		write_bounds(shape, "minItems", "maxItems", first);
		begin_member("items", first);
		write_value(shape->item, NULL);
		break;
	case SHAPE_NAMES:
		write_type("'object'", shape, first);
		write_bounds(shape, "minProperties", "maxProperties", first);
		if (!says(shape->json, "additionalProperties")) {
			begin_member("additionalProperties", first);
			write_value(shape->item, NULL);
		} else if (shape->item->name) {
			define(shape->item); /* the shape's JSON refers to it */
		}
		break;
	case SHAPE_MAP:
		write_type("'object'", shape, first);
		write_rows(shape, first);
		break;
	case SHAPE_OTHER:
		break;
	}
}

static void write_either(const struct yaml_shape *shape, bool *first);

/* The members of a shape. */
static void write_members(const struct yaml_shape *shape, const struct yaml_row *row, bool *first)
{
	bool described = row && row->help;

	write_string_member("description", described ? row->help : shape->help, first);
	if (shape->other) {
		write_either(shape, first);
		return;
	}
	write_for_type(shape, first);
	if (shape->type != SHAPE_WORD) {
		write_string_member("pattern", shape->pattern, first);
	}
	if (shape->json) {
		begin_member(NULL, first);
		write_raw(shape->json);
	}
}

/* A map, or the other shape. */
static void write_either(const struct yaml_shape *shape, bool *first)
{
	struct yaml_shape map = *shape;
	bool first_of_map = true;

	map.other = NULL;
	map.help = NULL;
	begin_member("if", first);
	write_raw("{ 'type': 'object' }");
	begin_member("then", first);
	text_add_char(&out, '{');
	write_members(&map, NULL, &first_of_map);
	text_add_string(&out, " }");
	begin_member("else", first);
	write_value(shape->other, NULL);
}

/* A value, with what its row says beside the shape. */
static void write_value(const struct yaml_shape *shape, const struct yaml_row *row)
{
	bool first = true;

	text_add_char(&out, '{');
	if (shape->name) {
		char reference[64];

		define(shape);
		snprintf(reference, sizeof reference, "#/$defs/%s", shape->name);
		write_string_member("$ref", reference, &first);
		write_string_member("description", row ? row->help : NULL, &first);
	} else {
		write_members(shape, row, &first);
	}
	if (row && row->json) {
		begin_member(NULL, &first);
		write_raw(row->json);
	}
	if (row && row->fallback) {
		write_fallback(row, &first);
	}
	text_add_string(&out, " }");
}

int main(void)
{
	static const char head[] =
		"{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
		"  \"title\": \"etw_exporter: a configuration, or a collector\",\n"
		"  \"$comment\": \"For editors. Written by build/release/make_schema from the tables that "
		"the program reads files by; not to be edited. `etwtool check` knows more: names of "
		"events, fields and collectors, what several families must agree on. Stricter in one "
		"thing: a number stands without quotes. No words newer than draft-07 but $defs, which "
		"older editors resolve too.\",\n"
		"  \"if\": { \"type\": \"object\", \"required\": [\"collector\"] },\n"
		"  \"then\": { \"$ref\": \"#/$defs/collector\" },\n"
		"  \"else\": { \"$ref\": \"#/$defs/config\" },\n  \"$defs\": {";
	bool first_definition = true;

	text_add_string(&out, head);
	define(&config_shape);
	define(&collector_shape);
	depth = 2;
	for (size_t i = 0; i < definition_count; i++) {
		bool first = true;

		begin_line(&first_definition);
		write_string(definitions[i]->name);
		text_add_string(&out, ": {");
		write_members(definitions[i], NULL, &first);
		text_add_string(&out, " }");
	}
	text_add_string(&out, "\n  }\n}\n");
	if (out.failed || definition_count == DEFINITIONS_MAX) {
		fputs("make_schema: no memory, or too many shapes\n", stderr);
		return 1;
	}
	fwrite(out.data, 1, out.size, stdout);
	text_free(&out);
	return fflush(stdout) == 0 ? 0 : 1;
}
