/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads JSON.
 *
 * The writer appends to a text and keeps no tree. It only remembers the depth, and one bit for each
 * depth that says whether a member was already written there; this decides whether a comma precedes
 * the next value. After a key the next value needs no separator. The functions do not check that
 * the calls form a valid document, except with assertions, since only our own code can break it.
 *
 * Text from events is escaped as JSON requires. Other characters that control a terminal
 * (base/utf8.h) are escaped as well, although JSON allows them.
 *
 * Source: RFC 8259, "The JavaScript Object Notation (JSON) Data Interchange Format".
 */
#include "base/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

enum { JSON_DEPTH_MAX = 64 };

/* Writes the separator before the next key or value. */
static void separate(struct json *json)
{
	uint64_t bit;

	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->depth == 0) {
		return;
	}
	bit = UINT64_C(1) << (json->depth - 1);
	if (json->filled & bit) {
		text_add(json->out, ", ", json->spaced ? 2 : 1);
	}
	json->filled |= bit;
}

static void begin(struct json *json, char bracket)
{
	separate(json);
	text_add_char(json->out, bracket);
	assert(json->depth < JSON_DEPTH_MAX);
	json->filled &= ~(UINT64_C(1) << json->depth);
	json->depth++;
}

static void end(struct json *json, char bracket)
{
	assert(json->depth > 0 && !json->after_key);
	json->depth--;
	text_add_char(json->out, bracket);
}

static void add_quoted(struct etw_text *out, const char *text, size_t size)
{
	size_t plain = 0; /* start of the part that needs no escape and is not added yet */
	size_t at = 0;

	text_add_char(out, '"');
	while (at < size) {
		uint32_t codepoint;
		size_t taken = utf8_decode(text + at, size - at, &codepoint);

		/* JSON requires escapes for C0 only, but people also read JSON on terminals. */
		if (codepoint == '"' || codepoint == '\\' || utf8_steers_terminal(codepoint)) {
			text_add(out, text + plain, at - plain);
			text_add_escape(out, codepoint);
			plain = at + taken;
		} else if (codepoint == UTF8_REPLACEMENT) {
			text_add(out, text + plain, at - plain);
			text_add_utf8_clean(out, text + at, taken);
			plain = at + taken;
		}
		at += taken;
	}
	text_add(out, text + plain, size - plain);
	text_add_char(out, '"');
}

void json_init(struct json *json, struct etw_text *out, bool spaced)
{
	*json = (struct json){ .out = out, .spaced = spaced };
}

void json_object_begin(struct json *json)
{
	begin(json, '{');
}

void json_object_end(struct json *json)
{
	end(json, '}');
}

void json_array_begin(struct json *json)
{
	begin(json, '[');
}

void json_array_end(struct json *json)
{
	end(json, ']');
}

void json_key(struct json *json, const char *key)
{
	separate(json);
	add_quoted(json->out, key, strlen(key));
	text_add(json->out, ": ", json->spaced ? 2 : 1);
	json->after_key = true;
}

void json_text(struct json *json, const char *text, size_t size)
{
	separate(json);
	add_quoted(json->out, text, size);
}

void json_string(struct json *json, const char *string)
{
	if (!string) {
		json_null(json);
		return;
	}
	json_text(json, string, strlen(string));
}

void json_u64(struct json *json, uint64_t value)
{
	separate(json);
	text_add_u64(json->out, value);
}

void json_i64(struct json *json, int64_t value)
{
	separate(json);
	text_add_i64(json->out, value);
}

void json_double(struct json *json, double value)
{
	char number[40];
	/* Most numbers need at most 15 digits (%g drops trailing zeros), and 17 always suffice.
	 * Below DBL_MIN a double has fewer digits. */
	int precision = fabs(value) < DBL_MIN ? 1 : 15;

	if (!isfinite(value)) {
		json_null(json);
		return;
	}
	separate(json);
	for (; precision <= 17; precision++) {
		double back;

		snprintf(number, sizeof number, "%.*g", precision, value);
		back = strtod(number, NULL);
		if (back == value) {
			break;
		}
	}
	text_add_string(json->out, number);
}

void json_bool(struct json *json, bool value)
{
	separate(json);
	text_add_string(json->out, value ? "true" : "false");
}

void json_null(struct json *json)
{
	separate(json);
	text_add_string(json->out, "null");
}

void json_member_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_string(json, value);
}

void json_member_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void json_member_i64(struct json *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_i64(json, value);
}

void json_member_double(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

void json_member_guid(struct json *json, const char *key, const struct etw_guid *guid)
{
	char text[GUID_TEXT_SIZE];

	guid_format(guid, text);
	json_member_string(json, key, text);
}

void json_member_object(struct json *json, const char *key)
{
	json_key(json, key);
	json_object_begin(json);
}

void json_member_array(struct json *json, const char *key)
{
	json_key(json, key);
	json_array_begin(json);
}

/* ---- reading ---- */

/*
 * Every value except the first one follows a bracket or a comma, so the number of these characters
 * limits the number of values before any is read. A text without its escapes is never longer than
 * in the input, and its quotes leave room for a NUL; a number needs one more byte. Therefore both
 * blocks of memory are allocated once for a whole text, and pointers into them stay valid while it
 * is read.
 *
 * The values of one array or object are a list. Depth is bounded, since the reader calls itself.
 * The text is from outside the program. It is read with an end, not up to a NUL. A pair of escaped
 * surrogates becomes one character; a lone one becomes U+FFFD, as in the output.
 *
 * No library of the distribution keeps the text of a number: jansson refuses integers above 2^63 -
 * 1, and cJSON converts all numbers to double. Fields of events have 64 bits.
 *
 * Source: RFC 8259, "The JavaScript Object Notation (JSON) Data Interchange Format".
 */

enum { DEPTH_MOST = 64 };

struct reader {
	const char *start, *at, *end;
	struct etw_json_value *next_value;
	char *next_byte;
	unsigned depth;
	struct etw_error *err;
};

static bool expected(const struct reader *reader, const char *what)
{
	return error_set(reader->err, ETW_ERROR_FORMAT, "expected %s at character %zu", what,
			 (size_t)(reader->at - reader->start) + 1);
}

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' ||
					    *reader->at == '\n' || *reader->at == '\r')) {
		reader->at++;
	}
}

static bool take_char(struct reader *reader, char c)
{
	if (reader->at < reader->end && *reader->at == c) {
		reader->at++;
		return true;
	}
	return false;
}

/* ---- texts ---- */

static bool read_hex4(struct reader *reader, uint32_t *unit)
{
	*unit = 0;
	if (reader->end - reader->at < 4) {
		return expected(reader, "four hexadecimal digits");
	}
	for (unsigned i = 0; i < 4; i++) {
		char c = reader->at[i];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
				 c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
				 c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 :
							16;

		if (digit == 16) {
			return expected(reader, "four hexadecimal digits");
		}
		*unit = *unit << 4 | digit;
	}
	reader->at += 4;
	return true;
}

static bool read_unicode(struct reader *reader)
{
	uint32_t unit, low;

	if (!read_hex4(reader, &unit)) {
		return false;
	}
	if (unit >= 0xd800 && unit < 0xdc00 && reader->end - reader->at >= 2 &&
	    reader->at[0] == '\\' && reader->at[1] == 'u') {
		const char *before = reader->at;

		reader->at += 2;
		if (!read_hex4(reader, &low)) {
			return false;
		}
		if (low >= 0xdc00 && low < 0xe000) {
			unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
		} else {
			reader->at = before;
		}
	}
	reader->next_byte += utf8_encode(unit, reader->next_byte);
	return true;
}

static bool read_escape(struct reader *reader)
{
	static const char escapes[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (take_char(reader, 'u')) {
		return read_unicode(reader);
	}
	found = reader->at < reader->end && *reader->at != '\0' ? strchr(escapes, *reader->at) :
								  NULL;
	if (!found) {
		return expected(reader, "an escape such as \\n or \\u00e4");
	}
	reader->at++;
	*reader->next_byte++ = meanings[found - escapes];
	return true;
}

/* Reads a text after its opening quote. */
static bool read_text(struct reader *reader, const char **text, size_t *size)
{
	char *start = reader->next_byte;

	while (!take_char(reader, '"')) {
		uint32_t codepoint;
		size_t taken;

		if (take_char(reader, '\\')) {
			if (!read_escape(reader)) {
				return false;
			}
			continue;
		}
		if (reader->at == reader->end || (unsigned char)*reader->at < 0x20) {
			return expected(reader, "the closing quote of a text");
		}
		taken = utf8_decode(reader->at, (size_t)(reader->end - reader->at), &codepoint);
		if (codepoint == UTF8_REPLACEMENT &&
		    (taken != 3 || memcmp(reader->at, "\xef\xbf\xbd", 3) != 0)) {
			return expected(reader, "valid UTF-8");
		}
		memcpy(reader->next_byte, reader->at, taken);
		reader->next_byte += taken;
		reader->at += taken;
	}
	*text = start;
	*size = (size_t)(reader->next_byte - start);
	*reader->next_byte++ = '\0';
	return true;
}

/* ---- numbers and words ---- */

static size_t skip_digits(struct reader *reader)
{
	const char *start = reader->at;

	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
		reader->at++;
	}
	return (size_t)(reader->at - start);
}

static bool read_number(struct reader *reader, struct etw_json_value *value)
{
	const char *start = reader->at;

	take_char(reader, '-');
	if (!take_char(reader, '0') && skip_digits(reader) == 0) {
		return expected(reader, "a value");
	}
	if (take_char(reader, '.') && skip_digits(reader) == 0) {
		return expected(reader, "a digit");
	}
	if (take_char(reader, 'e') || take_char(reader, 'E')) {
		if (!take_char(reader, '-')) {
			take_char(reader, '+');
		}
		if (skip_digits(reader) == 0) {
			return expected(reader, "a digit");
		}
	}
	value->type = JSON_NUMBER;
	value->text = reader->next_byte;
	value->size = (size_t)(reader->at - start);
	memcpy(reader->next_byte, start, value->size);
	reader->next_byte += value->size;
	*reader->next_byte++ = '\0';
	return true;
}

static bool take_word(struct reader *reader, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0) {
		return false;
	}
	reader->at += size;
	return true;
}

/* ---- values ---- */

static bool read_value(struct reader *reader, struct etw_json_value *value);

/* Reads the members of an array or an object after its opening bracket. */
static bool read_members(struct reader *reader, struct etw_json_value *parent, char closing)
{
	const struct etw_json_value **link = &parent->first;

	if (++reader->depth > DEPTH_MOST) {
		return expected(reader, "fewer levels");
	}
	skip_blanks(reader);
	while (!take_char(reader, closing)) {
		struct etw_json_value *value;
		const char *key = NULL;
		size_t key_size;

		if (parent->count > 0 && !take_char(reader, ',')) {
			return expected(reader, closing == '}' ? "a comma or }" : "a comma or ]");
		}
		skip_blanks(reader);
		if (closing == '}') {
			if (!take_char(reader, '"')) {
				return expected(reader, "a key in quotes");
			}
			if (!read_text(reader, &key, &key_size)) {
				return false;
			}
			skip_blanks(reader);
			if (!take_char(reader, ':')) {
				return expected(reader, "a colon");
			}
		}
		value = reader->next_value++;
		*value = (struct etw_json_value){ .key = key };
		*link = value;
		link = &value->next;
		parent->count++;
		if (!read_value(reader, value)) {
			return false;
		}
		skip_blanks(reader);
	}
	reader->depth--;
	return true;
}

static bool read_value(struct reader *reader, struct etw_json_value *value)
{
	skip_blanks(reader);
	if (take_char(reader, '{')) {
		value->type = JSON_OBJECT;
		return read_members(reader, value, '}');
	}
	if (take_char(reader, '[')) {
		value->type = JSON_ARRAY;
		return read_members(reader, value, ']');
	}
	if (take_char(reader, '"')) {
		value->type = JSON_TEXT;
		return read_text(reader, &value->text, &value->size);
	}
	if (take_word(reader, "null")) {
		value->type = JSON_NULL;
		return true;
	}
	if (take_word(reader, "true")) {
		value->type = JSON_TRUE;
		return true;
	}
	if (take_word(reader, "false")) {
		value->type = JSON_FALSE;
		return true;
	}
	return read_number(reader, value);
}

/* ---- the document ---- */

static bool make_room(struct json_document *document, const char *text, size_t size,
		      struct etw_error *err)
{
	size_t values = 1;

	for (size_t i = 0; i < size; i++) {
		values += text[i] == ',' || text[i] == '[' || text[i] == '{';
	}
	if (values > document->value_capacity) {
		free(document->values);
		document->values = calloc(values, sizeof *document->values);
		document->value_capacity = document->values ? values : 0;
	}
	if (size + values > document->byte_capacity) {
		free(document->bytes);
		document->bytes = malloc(size + values);
		document->byte_capacity = document->bytes ? size + values : 0;
	}
	return (document->values && document->bytes) || error_no_memory(err, "a line of JSON");
}

const struct etw_json_value *json_read(struct json_document *document, const char *text,
				       size_t size, struct etw_error *err)
{
	struct reader reader = { .start = text, .at = text, .end = text + size, .err = err };
	struct etw_json_value *root;

	if (!make_room(document, text, size, err)) {
		return NULL;
	}
	root = document->values;
	*root = (struct etw_json_value){ .key = NULL };
	reader.next_value = root + 1;
	reader.next_byte = document->bytes;
	if (!read_value(&reader, root)) {
		return NULL;
	}
	skip_blanks(&reader);
	if (reader.at < reader.end) {
		expected(&reader, "the end of the text");
		return NULL;
	}
	return root;
}

void json_document_done(struct json_document *document)
{
	free(document->values);
	free(document->bytes);
	*document = (struct json_document){ .values = NULL };
}

const struct etw_json_value *json_member(const struct etw_json_value *object, const char *key)
{
	if (!object || object->type != JSON_OBJECT) {
		return NULL;
	}
	for (const struct etw_json_value *value = object->first; value; value = value->next) {
		if (strcmp(value->key, key) == 0) {
			return value;
		}
	}
	return NULL;
}

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",        [JSON_FALSE] = "false", [JSON_TRUE] = "true",
		[JSON_NUMBER] = "a number",  [JSON_TEXT] = "a text", [JSON_ARRAY] = "a list",
		[JSON_OBJECT] = "an object",
	};

	return names[type];
}
