/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, one code point at a time. Invalid bytes become U+FFFD.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_REPLACEMENT = 0xfffd };

/*
 * Decodes the code point at `at`, where size bytes (at least 1) may be read. Returns the number of
 * bytes that it takes, at least 1. Invalid bytes (also overlong forms, surrogates and an incomplete
 * end) give U+FFFD, which stands for the longest valid start of a character, or for one byte.
 *
 * Source: "The Unicode Standard", section 3.9, table 3-7,
 * and "U+FFFD Substitution of Maximal Subparts".
 */
size_t utf8_decode(const char *at, size_t size, uint32_t *codepoint);

/*
 * Writes codepoint to out and returns the number of bytes, 1 to 4. Surrogates and values above
 * U+10FFFF become U+FFFD.
 */
size_t utf8_encode(uint32_t codepoint, char out[4]);

/*
 * Returns whether a character can mislead a terminal or a reader: it moves the cursor, starts an
 * escape sequence, ends a line, changes the direction of writing or is invisible. Names and texts
 * of events may contain such characters; output for people must not.
 *
 * These are the controls (C0, DEL, C1), the soft hyphen, zero-width characters, line and paragraph
 * separators, and bidirectional controls. Source: "The Unicode Standard", sections 23.1 to 23.3;
 * all are below U+10000.
 */
bool utf8_steers_terminal(uint32_t codepoint);

/*
 * Returns the most columns that a terminal uses for a character: 2 for East Asian ones and
 * pictures, otherwise 1. Terminals differ, and some characters take no column; the true number is
 * never higher. Source: "EastAsianWidth.txt", Unicode Character Database (W and F, with gaps
 * closed).
 */
unsigned utf8_columns(uint32_t codepoint);

#endif
