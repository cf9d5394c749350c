/* SPDX-License-Identifier: MIT */
/*
 * Reads a YAML tree by tables.
 *
 * A configuration file is a tree of maps, and each map becomes a structure in C. A table describes
 * how: a row for each key names the shape of its value and the member of the structure that stores
 * it. yaml_read() takes a node and a row, checks that the node has the shape of the row, and stores
 * the value at the row's offset. A map is read in this order: unknown keys are refused, with the
 * nearest known key as a suggestion; members get the values that they have without a key; before()
 * checks which keys there are; missing keys are refused; the values are read in the order of the
 * rows; and check() checks the structure. So a row may depend on the rows above it.
 *
 * If a value needs logic, its shape has a read() function of its own; if the value is stored as
 * usual but must satisfy more than bounds, it has a check(). Lists are read into arrays in the
 * memory of the tree, so that they need not be freed; the few structures whose other users call
 * free() on their members have rows with `owned`. The element count of an array is raised before
 * its next element is read: after an error, the owner frees all elements, the half-read one
 * included.
 *
 * Every error must name its place in the file: a sentence without line and column is of little use
 * in a file of a hundred lines.
 *
 * After an error the reader continues with the next key or list item, so that one run shows all
 * errors of a file. Members with errors keep their initial values. So check() of a structure is
 * only called if all of it is right, and a row whose value cannot be read without those above it
 * has `relies`. Without memory the reader stops.
 */
#include "config/yaml_rows.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"

const struct yaml_shape yaml_switch_shape = {
	.type = SHAPE_SWITCH,
	.name = "switch",
	.help = "on or off.",
};
const struct yaml_shape yaml_scalar_shape = {
	.type = SHAPE_TEXT,
	.name = "scalar",
	.help = "Text. A number or a switch without quotes is also taken as text.",
};

bool yaml_missing(struct yaml_reader *in, const struct yaml_node *at, const char *what,
		  const char *key)
{
	return yaml_wrong(in, at, "%s: '%s' is missing", what, key);
}

bool yaml_expect(struct yaml_reader *in, const struct yaml_node *node, enum yaml_type type,
		 const char *what)
{
	static const char *const names[] = {
		[YAML_TEXT] = "text", [YAML_LIST] = "a list", [YAML_MAP] = "a map"
	};
	static const char *const examples[] = {
		[YAML_TEXT] = "", [YAML_LIST] = " such as [a, b]", [YAML_MAP] = " such as { a: b }"
	};
	bool nothing = node->type == YAML_TEXT && node->size == 0 && !node->quoted;

	if (node->type == type && !nothing) {
		return true;
	}
	return yaml_wrong(in, node, "%s: expected %s%s, found %s", what, names[type],
			  examples[type], nothing ? "nothing" : names[node->type]);
}

/* ---- words and keys ---- */

const char *yaml_word_at(const struct yaml_shape *shape, size_t index)
{
	if (shape->type == SHAPE_MAP) {
		return index < shape->row_count ? shape->rows[index].key : NULL;
	}
	return shape->word ? shape->word(index) : shape->words[index];
}

/* Returns whether the reader can continue after an error: it can after an error of the file, which
 * has been reported. */
static bool can_go_on(const struct yaml_reader *in)
{
	return in->err->code == ETW_ERROR_CONFIG;
}

static bool unknown_word(struct yaml_reader *in, const struct yaml_node *node, const char *what,
			 const struct yaml_shape *shape)
{
	struct nearest nearest = { .word = node->text, .size = node->size };
	char known[256] = "";
	size_t filled = 0;

	for (size_t i = 0; yaml_word_at(shape, i); i++) {
		const char *word = yaml_word_at(shape, i);

		if (shape->type == SHAPE_MAP && shape->rows[i].spelling) {
			continue;
		}
		nearest_offer(&nearest, word);
		if (filled + strlen(word) + 3 < sizeof known) {
			filled += (size_t)snprintf(known + filled, sizeof known - filled, "%s%s",
						   i > 0 ? ", " : "", word);
		}
	}
	if (nearest.best) {
		return yaml_wrong(in, node, "unknown %s '%s'; did you mean '%s'?", what, node->text,
				  nearest.best);
	}
	return yaml_wrong(in, node, "unknown %s '%s'; known: %s", what, node->text, known);
}

static bool find_word(const struct yaml_shape *shape, const char *text, size_t *index)
{
	for (size_t i = 0; yaml_word_at(shape, i); i++) {
		if (strcmp(yaml_word_at(shape, i), text) == 0) {
			*index = i;
			return true;
		}
	}
	return false;
}

bool yaml_word(struct yaml_reader *in, const struct yaml_node *node, const char *what,
	       const struct yaml_shape *shape, unsigned *index)
{
	size_t found;

	if (!yaml_expect(in, node, YAML_TEXT, what)) {
		return false;
	}
	if (!find_word(shape, node->text, &found)) {
		return unknown_word(in, node, what, shape);
	}
	*index = (unsigned)found;
	return true;
}

/* ---- values ---- */

static void *member(void *base, size_t offset)
{
	return (unsigned char *)base + offset;
}

/* Stores an integer in a member of 1, 2, 4 or 8 bytes. */
static void store_integer(const struct yaml_row *row, void *base, uint64_t value)
{
	void *to = yaml_member(base, row);

	switch (row->size) {
	case sizeof(uint8_t):
		memcpy(to, &(uint8_t){ (uint8_t)value }, row->size);
		break;
	case sizeof(uint16_t):
		memcpy(to, &(uint16_t){ (uint16_t)value }, row->size);
		break;
	case sizeof(uint32_t):
		memcpy(to, &(uint32_t){ (uint32_t)value }, row->size);
		break;
	case sizeof(uint64_t):
		memcpy(to, &value, row->size);
		break;
	default:
		assert(false); /* the row has no member */
	}
}

static bool read_text(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	const struct yaml_shape *shape = row->shape;
	const char *text = node->text;

	if (node->size < shape->least || (shape->most > 0 && node->size > shape->most)) {
		return shape->most > 0 ?
			       yaml_wrong(in, node, "%s: expected %u to %u bytes", row->key,
					  (unsigned)shape->least, (unsigned)shape->most) :
			       yaml_wrong(in, node, "%s: an empty text", row->key);
	}
	if (row->owned) {
		text = text_duplicate(node->text, node->size);
		if (!text) {
			return error_no_memory(in->err, row->key);
		}
	}
	if (row->size == sizeof text) {
		memcpy(yaml_member(base, row), &text, sizeof text);
	}
	return true;
}

/* The units of a number, from the smallest to the largest; a row without a name ends them. */
struct unit {
	const char *name;
	uint64_t size;
};
static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit size_units[] = { { "", 1 },
					  { "KiB", UINT64_C(1) << 10 },
					  { "MiB", UINT64_C(1) << 20 },
					  { "GiB", UINT64_C(1) << 30 },
					  { NULL, 0 } };
static const struct unit duration_units[] = {
	{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { NULL, 0 }
};

enum { BOUND_SIZE = 32 };

/* Writes a bound as people do, in the largest unit in which it is a whole number. */
static const char *show_bound(char text[BOUND_SIZE], uint64_t number, const struct unit *units)
{
	const struct unit *unit = units;

	for (const struct unit *at = units; number > 0 && at->name; at++) {
		unit = number % at->size == 0 ? at : unit;
	}
	snprintf(text, BOUND_SIZE, "%llu%s", (unsigned long long)(number / unit->size), unit->name);
	return text;
}

/* Stores the value if it is within the bounds of the shape; otherwise reports an error. */
static bool store_in_range(struct yaml_reader *in, const struct yaml_node *node,
			   const struct yaml_row *row, void *base, uint64_t value,
			   const struct unit *units)
{
	const struct yaml_shape *shape = row->shape;
	char least[BOUND_SIZE], most[BOUND_SIZE];

	if (value < shape->least || value > shape->most) {
		return yaml_wrong(in, node, "%s: %s is not from %s to %s", row->key, node->text,
				  show_bound(least, shape->least, units),
				  show_bound(most, shape->most, units));
	}
	if (shape->multiple != 0 && value % shape->multiple != 0) {
		return yaml_wrong(in, node, "%s: %s is not a multiple of %s", row->key, node->text,
				  show_bound(least, shape->multiple, units));
	}
	store_integer(row, base, value);
	return true;
}

bool yaml_expect_number(struct yaml_reader *in, const struct yaml_node *node, const char *what)
{
	return !node->quoted || node->size == 0 ||
	       yaml_wrong(in, node,
			  "%s: expected a number, found the text '%s'; write it without quotes",
			  what, node->text);
}

static bool read_number(struct yaml_reader *in, const struct yaml_node *node,
			const struct yaml_row *row, void *base)
{
	uint64_t value;

	if (!yaml_expect_number(in, node, row->key)) {
		return false;
	}
	/* For editors, 0X10 is a text. */
	if (strncmp(node->text, "0X", 2) == 0 || !parse_u64(node->text, node->size, &value)) {
		return yaml_wrong(in, node, "%s: '%s' is not a whole number from 0", row->key,
				  node->text);
	}
	return store_in_range(in, node, row, base, value, no_units);
}

static bool read_real(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	double value = 0;
	char *end = NULL;

	if (!yaml_expect_number(in, node, row->key)) {
		return false;
	}
	/* Only digits, signs, points and exponents are allowed: strtod() also reads "nan", "inf"
	 * and hexadecimal. */
	if (strspn(node->text, "0123456789.eE+-") == node->size) {
		value = strtod(node->text, &end);
	}
	if (!end || end == node->text || *end != '\0' || !isfinite(value)) {
		return yaml_wrong(in, node, "%s: '%s' is not a number", row->key, node->text);
	}
	memcpy(yaml_member(base, row), &value, sizeof value);
	return true;
}

static bool read_size(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	size_t digits = node->size;
	uint64_t unit = 1, value;

	for (const struct unit *at = size_units + 1; at->name; at++) {
		if (node->size >= 3 && strcmp(node->text + node->size - 3, at->name) == 0) {
			digits = node->size - 3;
			unit = at->size;
		}
	}
	if (digits == node->size && !yaml_expect_number(in, node, row->key)) {
		return false;
	}
	while (digits > 0 && node->text[digits - 1] == ' ') {
		digits--;
	}
	if (!parse_u64(node->text, digits, &value)) {
		return yaml_wrong(in, node, "%s: '%s' is not a size such as 64MiB", row->key,
				  node->text);
	}
	value = value > UINT64_MAX / unit ? UINT64_MAX : value * unit;
	return store_in_range(in, node, row, base, value, size_units);
}

static bool read_duration(struct yaml_reader *in, const struct yaml_node *node,
			  const struct yaml_row *row, void *base)
{
	uint64_t value;

	if (!parse_duration(node->text, node->size, &value)) {
		return yaml_wrong(in, node, "%s: '%s' is not a duration such as 30s, 5m or 24h",
				  row->key, node->text);
	}
	return store_in_range(in, node, row, base, value, duration_units);
}

static bool read_switch(struct yaml_reader *in, const struct yaml_node *node,
			const struct yaml_row *row, void *base)
{
	enum {
		TEXTS = 2
	}; /* words that are also switches in quotes: YAML 1.2 takes them as text */
	static const char *const words[] = { "off",   "on",   "false", "true",
					     "False", "True", "FALSE", "TRUE" };
	unsigned count = node->quoted ? TEXTS : sizeof words / sizeof words[0];

	for (unsigned i = 0; i < count; i++) {
		if (strcmp(words[i], node->text) == 0) {
			store_integer(row, base, i % 2);
			return true;
		}
	}
	return yaml_wrong(in, node, "%s: expected on or off, found '%s'", row->key, node->text);
}

static bool read_word(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	unsigned index = 0;

	if (!yaml_word(in, node, row->key, row->shape, &index)) {
		return false;
	}
	store_integer(row, base, row->shape->least + index);
	return true;
}

/* ---- lists ---- */

static bool number_fits(struct yaml_reader *in, const struct yaml_node *node,
			const struct yaml_row *row, uint64_t number)
{
	const struct yaml_shape *shape = row->shape;
	unsigned least = (unsigned)shape->least, most = (unsigned)shape->most;

	if (number >= least && (most == 0 || number <= most)) {
		return true;
	}
	if (most == 0) {
		return yaml_wrong(in, node, "%s: an empty list", row->key);
	}
	if (least == 0) {
		return yaml_wrong(in, node, "%s: at most %u %s", row->key, most, shape->items);
	}
	return least == most ?
		       yaml_wrong(in, node, "%s: expected %u %s", row->key, least, shape->items) :
		       yaml_wrong(in, node, "%s: from %u to %u %s", row->key, least, most,
				  shape->items);
}

/* Makes room for the elements of a list and sets *items to the first one. */
static bool make_items(struct yaml_reader *in, const struct yaml_node *node,
		       const struct yaml_row *row, void *base, unsigned char **items)
{
	void *made;

	*items = yaml_member(base, row);
	if (row->size == 0 || row->in_place) {
		return true;
	}
	made = row->owned ? calloc(node->size + 1, row->size) :
			    yaml_alloc(in->tree, node->size, row->size, in->err);
	if (!made) {
		return error_no_memory(in->err, row->key);
	}
	memcpy(*items, &made, sizeof made);
	*items = made;
	*(size_t *)member(base, row->count) = 0;
	return true;
}

static const struct yaml_node *key_or_entry(const struct yaml_node *entry)
{
	return entry->key ? entry->key : entry;
}

/* Compares the element at an index, which was read from entry, with those before it. */
static bool check_twice(struct yaml_reader *in, const struct yaml_node *list,
			const struct yaml_node *entry, const struct yaml_row *row,
			const unsigned char *items, size_t index)
{
	const struct yaml_shape *shape = row->shape;
	const struct yaml_node *other = list->first;

	for (size_t i = 0; i < index; i++, other = other->next) {
		if (shape->same(items + i * row->size, items + index * row->size)) {
			return yaml_wrong(in, key_or_entry(entry), "%s: %s (first in line %u)",
					  row->key, shape->twice,
					  (unsigned)key_or_entry(other)->line);
		}
	}
	return true;
}

static bool read_list(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	const struct yaml_shape *shape = row->shape, *item = shape->item;
	struct yaml_row element = { .shape = item, .size = row->size };
	size_t *count = row->size > 0 ? member(base, row->count) : NULL;
	unsigned char *items;
	bool good = true;

	if (!yaml_expect(in, node, shape->type == SHAPE_LIST ? YAML_LIST : YAML_MAP, row->key) ||
	    !number_fits(in, node, row, node->size + (row->in_place ? *count : 0)) ||
	    !make_items(in, node, row, base, &items)) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		void *to = count ? items + (*count)++ * row->size : base;

		element.key = item->what ? item->what : entry->key ? entry->key->text : row->key;
		good = yaml_read(in, entry, &element, to) && good;
		if (!good && !can_go_on(in)) {
			return false;
		}
		/* Elements that are not whole cannot be compared. */
		good = good &&
		       (!shape->same || check_twice(in, node, entry, row, items, *count - 1));
	}
	return good;
}

/* ---- maps ---- */

/* Sets the members of absent keys to their defaults, also in nested maps. */
static bool read_fallbacks(struct yaml_reader *in, const struct yaml_shape *shape, void *base)
{
	for (const struct yaml_row *row = shape->rows; row < shape->rows + shape->row_count;
	     row++) {
		struct yaml_node text = { .type = YAML_TEXT }, list = { .type = YAML_LIST };
		bool is_list = row->shape->type == SHAPE_LIST;

		if (row->fallback) {
			text.text = row->fallback;
			text.size = strlen(row->fallback);
			list.first = &text;
			list.size = 1;
			if (!yaml_read(in, is_list ? &list : &text, row, base)) {
				return false;
			}
		} else if (row->shape->type == SHAPE_MAP && !row->shape->read &&
			   !read_fallbacks(in, row->shape, yaml_member(base, row))) {
			return false;
		}
	}
	return true;
}

/* Returns whether the map has an unknown key whose nearest known key is this one. Its error has
 * then proposed the missing key already. */
static bool is_misspelt(const struct yaml_node *node, const struct yaml_shape *shape,
			const char *key)
{
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		struct nearest nearest = { .word = entry->key->text, .size = entry->key->size };
		size_t index;

		if (find_word(shape, entry->key->text, &index)) {
			continue;
		}
		for (size_t i = 0; i < shape->row_count; i++) {
			if (!shape->rows[i].spelling) {
				nearest_offer(&nearest, shape->rows[i].key);
			}
		}
		if (nearest.best && strcmp(nearest.best, key) == 0) {
			return true;
		}
	}
	return false;
}

static bool refuse_key(struct yaml_reader *in, const struct yaml_node *key,
		       const struct yaml_shape *shape)
{
	for (const struct yaml_gone *gone = shape->gone; gone && gone->key; gone++) {
		if (strcmp(gone->key, key->text) == 0) {
			return yaml_wrong(in, key, "'%s' no longer exists; %s", gone->key,
					  gone->instead);
		}
	}
	return unknown_word(in, key, "key", shape);
}

static bool check_keys(struct yaml_reader *in, const struct yaml_node *node,
		       const struct yaml_shape *shape)
{
	bool good = true;

	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		size_t index;
		const char *needs;

		if (!find_word(shape, entry->key->text, &index)) {
			good = refuse_key(in, entry->key, shape);
			continue;
		}
		needs = shape->rows[index].needs;
		if (needs && !yaml_find(node, needs)) {
			good = is_misspelt(node, shape, needs) ?
				       false :
				       yaml_wrong(in, entry->key, "'%s' is only allowed with '%s'",
						  entry->key->text, needs);
		}
	}
	return good;
}

static bool check_required(struct yaml_reader *in, const struct yaml_node *node,
			   const struct yaml_row *row)
{
	const struct yaml_shape *shape = row->shape;
	bool good = true;

	for (size_t i = 0; i < shape->row_count; i++) {
		const char *key = shape->rows[i].key;

		if (shape->rows[i].required && !yaml_find(node, key)) {
			good = is_misspelt(node, shape, key) ?
				       false :
				       yaml_missing(in, node, shape->what ? shape->what : row->key,
						    key);
		}
	}
	return good;
}

bool yaml_read_map(struct yaml_reader *in, const struct yaml_node *node, const struct yaml_row *row,
		   void *base)
{
	const struct yaml_shape *shape = row->shape;
	const struct yaml_row *rows = shape->rows;
	void *to = yaml_member(base, row);
	bool good;

	if (!yaml_expect(in, node, YAML_MAP, row->key)) {
		return false;
	}
	good = check_keys(in, node, shape);
	if ((shape->whole && !good) || !read_fallbacks(in, shape, to) ||
	    (shape->before && !shape->before(in, node, to))) {
		return false;
	}
	good = check_required(in, node, row) && good;
	for (size_t i = 0; i < shape->row_count; i++) {
		const struct yaml_node *value = yaml_find(node, rows[i].key);

		if (!value || (rows[i].relies && !good)) {
			continue;
		}
		good = yaml_read(in, value, &rows[i], to) && good;
		if (!good && !can_go_on(in)) {
			return false;
		}
	}
	return good;
}

/* Returns whether an editor takes the text as a number or a switch ("10.3.2. Tag Resolution", YAML
 * 1.2.2). */
static bool is_other_type(const struct yaml_node *node)
{
	static const char *const switches[] = { "true", "True", "TRUE", "false", "False", "FALSE" };
	const char *at = node->text;
	size_t digits, fraction = 0;

	for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
		if (strcmp(at, switches[i]) == 0) {
			return true;
		}
	}
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'o')) {
		const char *allowed = at[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567";

		return node->size > 2 && strspn(at + 2, allowed) == node->size - 2;
	}
	at += *at == '-' || *at == '+';
	digits = strspn(at, "0123456789");
	at += digits;
	if (*at == '.') {
		fraction = strspn(++at, "0123456789");
		at += fraction;
	}
	if (digits + fraction > 0 && (*at == 'e' || *at == 'E')) {
		at += at[1] == '-' || at[1] == '+' ? 2 : 1;
		digits = strspn(at, "0123456789");
		at += digits;
		fraction = 0;
	}
	return digits + fraction > 0 && *at == '\0';
}

/* A pattern is compared with texts only, by editors and here. */
static bool check_is_text(struct yaml_reader *in, const struct yaml_node *node,
			  const struct yaml_row *row)
{
	const struct yaml_shape *shape = row->shape;
	bool text_only = shape->type == SHAPE_TEXT && shape->pattern && !shape->any_scalar;

	return !text_only || node->quoted || !is_other_type(node) ||
	       yaml_wrong(in, node, "%s: expected text, found %s; write '%s' in quotes", row->key,
			  node->text, node->text);
}

bool yaml_read(struct yaml_reader *in, const struct yaml_node *node, const struct yaml_row *row,
	       void *base)
{
	static yaml_read_function *const readers[] = {
		[SHAPE_TEXT] = read_text,         [SHAPE_NUMBER] = read_number,
		[SHAPE_REAL] = read_real,         [SHAPE_SIZE] = read_size,
		[SHAPE_DURATION] = read_duration, [SHAPE_SWITCH] = read_switch,
		[SHAPE_WORD] = read_word,         [SHAPE_LIST] = read_list,
		[SHAPE_NAMES] = read_list,        [SHAPE_MAP] = yaml_read_map,
	};
	const struct yaml_shape *shape = row->shape;
	yaml_read_function *read = shape->read ? shape->read : readers[shape->type];
	bool scalar = shape->type >= SHAPE_TEXT && shape->type <= SHAPE_WORD;

	if (shape->other && !shape->read && node->type != YAML_MAP) {
		struct yaml_row other = *row;

		other.shape = shape->other;
		return yaml_read(in, node, &other, base);
	}
	if (row->at != 0) {
		memcpy(member(base, row->at), &node, sizeof node);
	}
	if (row->later) {
		return true;
	}
	if ((scalar &&
	     (!yaml_expect(in, node, YAML_TEXT, row->key) || !check_is_text(in, node, row))) ||
	    !read(in, node, row, base)) {
		return false;
	}
	if (shape->type == SHAPE_MAP) {
		base = yaml_member(base, row);
	}
	return !shape->check || shape->check(in, node, base);
}

bool yaml_read_root(struct yaml_reader *in, const struct yaml_shape *shape, const char *what,
		    void *base)
{
	const struct yaml_row row = { .key = what, .shape = shape };
	struct etw_error *err = in->err, why = { 0 };
	bool good;

	in->err = &why; /* can_go_on() needs an error */
	good = yaml_read(in, yaml_root(in->tree), &row, base);
	if (!good && can_go_on(in)) {
		problems_first_error(yaml_problems(in->tree), &why);
	}
	if (!good && err) {
		*err = why;
	}
	in->err = err;
	return good;
}
