/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads JSON. All JSON output of the program uses it, so that only one place escapes
 * text. Commas and colons are added automatically.
 *
 * Text should be UTF-8; invalid bytes become U+FFFD, so the output is always valid. The nesting is
 * at most 64 deep.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"

struct json {
	struct etw_text *out; /* borrowed */
	unsigned depth;
	uint64_t filled; /* bit d: the object or array at depth d has a member */
	bool after_key;
	bool spaced; /* the separators are ", " and ": "; otherwise "," and ":" */
};

void json_init(struct json *json, struct etw_text *out, bool spaced);
void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);
void json_key(struct json *json, const char *key);
void json_text(struct json *json, const char *text, size_t size);
void json_string(struct json *json, const char *string); /* NULL writes null */
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
/* Writes the shortest text that reads back as the same number; null for NaN and infinities. */
void json_double(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
/* Write a key and its value. */
void json_member_string(struct json *json, const char *key, const char *value);
void json_member_u64(struct json *json, const char *key, uint64_t value);
void json_member_i64(struct json *json, const char *key, int64_t value);
void json_member_double(struct json *json, const char *key, double value);
void json_member_guid(struct json *json, const char *key, const struct etw_guid *guid);
/* Write a key and the beginning of its value. */
void json_member_object(struct json *json, const char *key);
void json_member_array(struct json *json, const char *key);

/* ---- reading ---- */

/*
 * Reads a JSON text into a tree of values (RFC 8259).
 *
 * Numbers are kept as their text, so that no digit is lost. The text must be UTF-8. A tree has at
 * most 64 levels and takes memory in proportion to the text.
 */

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
