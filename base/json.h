/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON. All JSON output of the program uses it, so that only one place escapes text. Commas
 * and colons are added automatically.
 *
 * Text should be UTF-8; invalid bytes become U+FFFD, so the output is always valid. The nesting is
 * at most 64 deep.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
