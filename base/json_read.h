/* SPDX-License-Identifier: MIT */
/*
 * Reads a JSON text into a tree of values (RFC 8259).
 *
 * Numbers are kept as their text, so that no digit is lost. The text must be UTF-8. A tree has at
 * most 64 levels and takes memory in proportion to the text.
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
	JSON_NUMBER, /* text: the number as written */
	JSON_TEXT,   /* text: without quotes and escapes; may contain NULs */
	JSON_ARRAY,
	JSON_OBJECT,
};

/* A value; its document owns it and its texts. */
struct etw_json_value {
	enum json_type type;
	const char *key; /* of a member of an object, NUL-terminated; else NULL */
	const char *text;
	size_t size;  /* bytes of text; a NUL follows them */
	size_t count; /* number of values in an array or an object */
	const struct etw_json_value *first;
	/* next value in the same array or object; NULL after the last */
	const struct etw_json_value *next;
};

/* The memory of a tree. Each json_read() reuses it. Zero-initialise it. */
struct json_document {
	struct etw_json_value *values; /* owned */
	size_t value_capacity;
	char *bytes; /* owned: keys and texts */
	size_t byte_capacity;
};

/*
 * Reads a text that contains one value and white space. The tree is valid until the next call for
 * the document. Returns NULL for other texts; the sentence says what was expected at which
 * character.
 */
const struct etw_json_value *json_read(struct json_document *document, const char *text,
				       size_t size, struct etw_error *err);

void json_document_done(struct json_document *document);

/* Returns the first member with this key; NULL if there is none, or if object is NULL or is not an
 * object. */
const struct etw_json_value *json_member(const struct etw_json_value *object, const char *key);

/* Returns "a number", "an object", … for messages that say what was found. */
const char *json_type_name(enum json_type type);

#endif
