/* SPDX-License-Identifier: MIT */
/*
 * Text: a growing buffer, comparisons without regard to ASCII case (for names on Windows), hashes,
 * and conversions of numbers.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/types.h>

#include "base/error.h"

void text_add(struct etw_text *text, const char *bytes, size_t size);
void text_add_string(struct etw_text *text, const char *string);
void text_add_char(struct etw_text *text, char c);
void text_add_format(struct etw_text *text, const char *format, ...) ETW_PRINTF_LIKE(2, 3);
/* Adds text formatted as by vsnprintf(); args cannot be used again afterwards. */
void text_add_arguments(struct etw_text *text, const char *format, va_list args)
	ETW_PRINTF_LIKE(2, 0);
void text_add_u64(struct etw_text *text, uint64_t value);
void text_add_i64(struct etw_text *text, int64_t value);
/* Adds two hexadecimal digits for each byte, in lower case. */
void text_add_hex(struct etw_text *text, const uint8_t *bytes, size_t size);
void text_clear(struct etw_text *text); /* empties it, keeps the memory, resets failed */
void text_free(struct etw_text *text);

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_equal_nocase(const char *a, size_t a_size, const char *b, size_t b_size);
bool text_starts_nocase(const char *text, size_t size, const char *start, size_t start_size);
bool text_ends_nocase(const char *text, size_t size, const char *end, size_t end_size);

/*
 * Return a well-mixed 64-bit hash of bytes; _nocase ignores the case of ASCII letters. seed: see
 * base/map.h.
 */
uint64_t text_hash(const char *text, size_t size, uint64_t seed);
uint64_t text_hash_nocase(const char *text, size_t size, uint64_t seed);

/* Returns a copy with a NUL after it, which the caller frees; NULL when memory runs out. */
char *text_duplicate(const char *text, size_t size);

/*
 * Parse a decimal number, or a hexadecimal one after 0x; _i64 also allows a sign. For any other
 * text, and for overflow, they return false and leave *value alone.
 */
bool parse_u64(const char *text, size_t size, uint64_t *value);
bool parse_i64(const char *text, size_t size, int64_t *value);
/* Parses "500ms", "1s", "5m", "2h"; a duration that does not fit becomes UINT64_MAX. */
bool parse_duration(const char *text, size_t size, uint64_t *ms);

/* Adds bytes; invalid UTF-8 becomes U+FFFD. */
void text_add_utf8_clean(struct etw_text *text, const char *bytes, size_t size);

/* Adds the escape of a character below U+10000 as in JSON, YAML and logfmt: \n or \u001b. */
void text_add_escape(struct etw_text *text, uint32_t codepoint);

/*
 * Adds text from outside so that people can read it safely: characters that control a terminal
 * (utf8_steers_terminal()) become escapes, and invalid UTF-8 becomes U+FFFD.
 */
void text_add_shown(struct etw_text *text, const char *string);
void text_add_shown_bytes(struct etw_text *text, const char *bytes, size_t size);

/* ---- files ---- */

/*
 * Reads a whole file, for example one that a configuration names. The caller frees *bytes, which
 * has room for a NUL after its size. A file of more than `most` bytes (a multiple of 1 MiB) is an
 * ETW_ERROR_CONFIG. Errors do not contain the path.
 */
bool file_read_whole(const char *path, size_t most, char **bytes, size_t *size,
		     struct etw_error *err);

/* ---- HTML ---- */

/*
 * Adds any text as the content of an element or of a quoted attribute: it is escaped, and U+FFFD
 * replaces characters that mislead readers (utf8_steers_terminal()) and invalid UTF-8.
 */
void text_add_html(struct etw_text *html, const char *text);

#endif
