/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON.
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
