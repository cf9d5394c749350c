/* SPDX-License-Identifier: MIT */
/*
 * Writes a YAML file by its tables.
 *
 * A value is printed as the tree has it, because the tree has what the user wrote and every shape
 * can read it, also those with a read() function of their own. The tables add the rest: which keys
 * there are, in which order, and the default of an absent one. So a key that is added to a table is
 * printed without a line of code here.
 *
 * A map is rendered into a separate text first, because only then is it known whether a map that
 * the file lacks has any default to print; without one its key is left out, because some maps
 * require a key. Text is printed plain if it was plain before and consists of characters that have
 * no meaning in YAML at any place; otherwise it is quoted, so that printing it again changes
 * nothing. A switch must stay plain: in quotes it would be a text.
 */
#include "config/yaml_rows.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/utf8.h"

enum {
	INDENT = 2,
	PATH_SIZE = 256,
	KEY_SIZE_MOST = 1000, /* most bytes of a key on one line; YAML allows 1024 characters ("YAML
				 Ain't Markup Language", 1.2, section 7.4) */
};

struct printer {
	const char *file; /* relative paths start at the folder of this file */
	const struct yaml_overrides *overrides;
};

/* The position at which a value is printed. */
struct position {
	unsigned indent;
	const char *path; /* keys from the root to the value; NULL: in a list, where no value is
			     overridden */
	bool in_list;     /* after a dash: the first key is on the same line */
};

static void print_value(const struct printer *printer, struct etw_text *out,
			const struct yaml_shape *shape, const struct yaml_node *node,
			const struct position *position);
static void print_rows(const struct printer *printer, struct etw_text *out,
		       const struct yaml_shape *shape, const struct yaml_node *node,
		       const struct position *position);

/* ---- text ---- */

static bool is_plain(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!isalnum((unsigned char)text[i]) &&
		    !strchr(i == 0 ? "_/." : "_/.-+:", text[i])) {
			return false;
		}
	}
	return size > 0 && text[size - 1] != ':';
}

/* Returns whether YAML allows the character only as an escape. */
static bool needs_escape(uint32_t codepoint)
{
	return utf8_steers_terminal(codepoint) || codepoint == 0xfeff || codepoint == 0xfffe ||
	       codepoint == 0xffff;
}

static void print_escaped(struct etw_text *out, const char *text, size_t size)
{
	text_add_char(out, '"');
	for (size_t at = 0; at < size;) {
		uint32_t codepoint;
		char encoded[4];

		at += utf8_decode(text + at, size - at, &codepoint);
		if (needs_escape(codepoint) || codepoint == '"' || codepoint == '\\') {
			text_add_escape(out, codepoint);
		} else {
			text_add(out, encoded, utf8_encode(codepoint, encoded));
		}
	}
	text_add_char(out, '"');
}

static void print_text(struct etw_text *out, const char *text, size_t size, bool quoted)
{
	if (!quoted && is_plain(text, size) && !yaml_is_null(text, size)) {
		text_add(out, text, size);
		return;
	}
	for (size_t at = 0; at < size;) {
		uint32_t codepoint;

		at += utf8_decode(text + at, size - at, &codepoint);
		if (needs_escape(codepoint) || codepoint == UTF8_REPLACEMENT) {
			print_escaped(out, text, size);
			return;
		}
	}
	text_add_char(out, '\'');
	for (size_t i = 0; i < size; i++) {
		text_add_string(out, text[i] == '\'' ? "'" : "");
		text_add_char(out, text[i]);
	}
	text_add_char(out, '\'');
}

static void print_path(const struct printer *printer, struct etw_text *out, const char *text)
{
	char *absolute = file_absolute(printer->file, text);

	if (!absolute) {
		out->failed = true;
		return;
	}
	print_text(out, absolute, strlen(absolute), true);
	free(absolute);
}

/* ---- lists and maps ---- */

static void begin_line(struct etw_text *out, unsigned indent)
{
	text_add_format(out, "%*s", (int)indent, "");
}

/* Prints a key at the start of a line, with its colon. */
static void print_key(struct etw_text *out, const char *key, size_t size, bool quoted,
		      unsigned indent)
{
	struct etw_text printed = { 0 };

	print_text(&printed, key, size, quoted);
	out->failed |= printed.failed;
	begin_line(out, indent);
	if (printed.size > KEY_SIZE_MOST) {
		text_add_string(out, "? ");
		text_add(out, printed.data, printed.size);
		text_add_string(out, "\n");
		begin_line(out, indent);
	} else if (printed.data) {
		text_add(out, printed.data, printed.size);
	}
	text_add_char(out, ':');
	text_free(&printed);
}

/* Appends the entries of a map, which were rendered separately; after a dash without the first
 * indent. */
static void place_entries(struct etw_text *out, const struct etw_text *entries,
			  const struct position *position)
{
	size_t skipped = position->in_list ? position->indent : 0;

	out->failed |= entries->failed;
	if (entries->size <= skipped) {
		text_add_string(out, " {}\n");
		return;
	}
	text_add_char(out, position->in_list ? ' ' : '\n');
	text_add(out, entries->data + skipped, entries->size - skipped);
}

static void print_list(const struct printer *printer, struct etw_text *out,
		       const struct yaml_shape *item, const struct yaml_node *list,
		       const struct position *position)
{
	const struct position inner = { .indent = position->indent + INDENT, .in_list = true };

	text_add_string(out, list->size == 0 ? " []\n" : "\n");
	for (const struct yaml_node *entry = list->first; entry; entry = entry->next) {
		begin_line(out, position->indent);
		text_add_char(out, '-');
		print_value(printer, out, item, entry, &inner);
	}
}

/* Prints a map whose keys the user chooses, or that no table describes. */
static void print_names(const struct printer *printer, struct etw_text *out,
			const struct yaml_shape *item, const struct yaml_node *map,
			const struct position *position)
{
	const struct position inner = { .indent = position->indent + INDENT };
	struct etw_text entries = { 0 };

	for (const struct yaml_node *entry = map->first; entry; entry = entry->next) {
		print_key(&entries, entry->key->text, entry->key->size, entry->key->quoted,
			  position->indent);
		print_value(printer, &entries, item, entry, &inner);
	}
	place_entries(out, &entries, position);
	text_free(&entries);
}

static void print_value(const struct printer *printer, struct etw_text *out,
			const struct yaml_shape *shape, const struct yaml_node *node,
			const struct position *position)
{
	const struct yaml_shape *item = shape ? shape->item : NULL;

	if (node->type == YAML_LIST) {
		print_list(printer, out, item, node, position);
	} else if (node->type == YAML_MAP && shape && shape->type == SHAPE_MAP) {
		struct etw_text entries = { 0 };

		print_rows(printer, &entries, shape, node, position);
		place_entries(out, &entries, position);
		text_free(&entries);
	} else if (node->type == YAML_MAP) {
		print_names(printer, out, item, node, position);
	} else {
		text_add_char(out, ' ');
		if (shape && shape->path) {
			print_path(printer, out, node->text);
		} else {
			print_text(out, node->text, node->size, node->quoted);
		}
		text_add_char(out, '\n');
	}
}

/* ---- keys that the file lacks ---- */

static const struct yaml_node *overriding(const struct printer *printer, const char *path)
{
	const struct yaml_overrides *overrides = printer->overrides;

	for (size_t i = 0; path && overrides && i < overrides->count; i++) {
		if (strcmp(overrides->list[i].path, path) == 0) {
			return overrides->list[i].node;
		}
	}
	return NULL;
}

static void print_absent(const struct printer *printer, struct etw_text *out,
			 const struct yaml_row *row, const struct position *inner, unsigned indent)
{
	const struct yaml_shape *shape = row->shape;
	bool is_list = shape->type == SHAPE_LIST;
	struct yaml_node text = { .type = YAML_TEXT, .text = row->fallback };
	const struct yaml_node list = { .type = YAML_LIST,
					.first = row->fallback ? &text : NULL,
					.size = row->fallback ? 1 : 0 };
	struct etw_text entries = { 0 };

	text.size = row->fallback ? strlen(row->fallback) : 0;
	if (row->fallback || (is_list && shape->least == 0)) {
		print_key(out, row->key, strlen(row->key), false, indent);
		print_value(printer, out, shape, is_list ? &list : &text, inner);
	} else if (shape->type == SHAPE_NAMES && shape->least == 0) {
		print_key(out, row->key, strlen(row->key), false, indent);
		text_add_string(out, " {}\n");
	} else if (shape->type == SHAPE_MAP && !shape->read) {
		print_rows(printer, &entries, shape, NULL, inner);
		out->failed |= entries.failed;
		if (entries.size > 0) {
			print_key(out, row->key, strlen(row->key), false, indent);
			place_entries(out, &entries, inner);
		}
		text_free(&entries);
	}
}

/* Prints the entries of a map by its rows. node NULL: the file lacks the map. */
static void print_rows(const struct printer *printer, struct etw_text *out,
		       const struct yaml_shape *shape, const struct yaml_node *node,
		       const struct position *position)
{
	for (size_t i = 0; i < shape->row_count; i++) {
		const struct yaml_row *row = &shape->rows[i];
		struct position inner = { .indent = position->indent + INDENT };
		const struct yaml_node *value;
		char path[PATH_SIZE];

		if (position->path) {
			snprintf(path, sizeof path, "%s%s%s", position->path,
				 position->path[0] != '\0' ? "." : "", row->key);
			inner.path = path;
		}
		value = overriding(printer, inner.path);
		value = value || !node ? value : yaml_find(node, row->key);
		if (value) {
			print_key(out, row->key, strlen(row->key), false, position->indent);
			print_value(printer, out, row->shape, value, &inner);
		} else if (!row->if_given && !row->required) {
			print_absent(printer, out, row, &inner, position->indent);
		}
	}
}

void yaml_print(struct etw_text *out, const struct yaml_shape *shape, const struct yaml_tree *tree,
		const struct yaml_overrides *overrides)
{
	const struct printer printer = { .file = yaml_name(tree), .overrides = overrides };
	const struct position position = { .path = "" };

	print_rows(&printer, out, shape, yaml_root(tree), &position);
}
