/* SPDX-License-Identifier: MIT */
/*
 * Text: a growing buffer, and the comparisons that Windows names need (ASCII without case).
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * A growing byte buffer, always followed by a NUL once something was added. Zero-initialise it.
 * When memory runs out `failed` is set and later additions do nothing, so a writer checks once, at
 * the end.
 */
struct text {
	char *data; /* owned; NULL while empty */
	size_t size;
	size_t capacity;
	bool failed;
};

void text_add(struct text *text, const char *bytes, size_t size);
void text_add_string(struct text *text, const char *string);
void text_add_char(struct text *text, char c);
void text_add_format(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_add_u64(struct text *text, uint64_t value);
void text_add_i64(struct text *text, int64_t value);
/* Lower case, two digits a byte. */
void text_add_hex(struct text *text, const uint8_t *bytes, size_t size);
void text_clear(struct text *text); /* empties, keeps the memory; not failed any more */
void text_free(struct text *text);

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_equal_nocase(const char *a, size_t a_size, const char *b, size_t b_size);
bool text_starts_nocase(const char *text, size_t size, const char *start, size_t start_size);
bool text_ends_nocase(const char *text, size_t size, const char *end, size_t end_size);

/*
 * A well-mixed 64-bit hash of bytes; _nocase gives ASCII letters of either case the same hash.
 * seed: see base/map.h.
 */
uint64_t text_hash(const char *text, size_t size, uint64_t seed);
uint64_t text_hash_nocase(const char *text, size_t size, uint64_t seed);

/* Writes value in decimal at out (at least 20 bytes; no NUL) and returns the number of digits. */
size_t decimal_u64(char *out, uint64_t value);

/* Adds bytes; what is not UTF-8 among them becomes U+FFFD. */
void text_add_utf8_clean(struct text *text, const char *bytes, size_t size);

/* A copy with a NUL behind it, to be freed; NULL without memory. */
char *text_duplicate(const char *text, size_t size);

/*
 * Decimal, or hexadecimal after 0x, nothing around it; a sign only for _i64. Returns false and
 * leaves *value alone for anything else, overflow included.
 */
bool parse_u64(const char *text, size_t size, uint64_t *value);
bool parse_i64(const char *text, size_t size, int64_t *value);
/* "500ms", "1s", "5m", "2h"; UINT64_MAX for what is longer than that can hold. */
bool parse_duration(const char *text, size_t size, uint64_t *ms);

#endif
