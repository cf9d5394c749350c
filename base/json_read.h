/* SPDX-License-Identifier: MIT */
/*
 * Reads a JSON text into a tree of values (RFC 8259).
 *
 * Nothing is converted that could lose something: a number is the text that stood there. The text
 * must be UTF-8. Trees are bounded: 64 levels, and memory in proportion to the text.
 */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER, /* text: as written */
	JSON_TEXT,   /* text: without quotes and escapes; may contain NULs */
	JSON_ARRAY,
	JSON_OBJECT,
};

/* Belongs to its document. */
struct etw_json_value {
	enum json_type type;
	const char *key; /* in an object, with a NUL after it; else NULL */
	const char *text;
	size_t size;  /* bytes of text, which a NUL follows */
	size_t count; /* values in an array or an object */
	const struct etw_json_value *first;
	const struct etw_json_value *next; /* in the same array or object; NULL: the last */
};

/* The memory of a tree, which is used again for the next text. Zero-initialise it. */
struct json_document {
	struct etw_json_value *values; /* owned */
	size_t value_capacity;
	char *bytes; /* owned: keys and texts */
	size_t byte_capacity;
};

/*
 * Reads one value, with nothing but white space around it. The tree is valid until the next call
 * for the document. NULL for anything else: the sentence says what was expected at which character.
 */
const struct etw_json_value *json_read(struct json_document *document, const char *text,
				       size_t size, struct etw_error *err);

void json_document_done(struct json_document *document);

/* The first member with this key; NULL if there is none, or if object is NULL or no object. */
const struct etw_json_value *json_member(const struct etw_json_value *object, const char *key);

/* "a number", "an object", … for sentences about what was found. */
const char *json_type_name(enum json_type type);

#endif
