/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, one code point at a time. Invalid bytes become U+FFFD.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_REPLACEMENT = 0xfffd };

/*
 * Decodes the code point at `at`, of which size (at least 1) bytes may be read. Returns the number
 * of bytes it takes, at least 1. For invalid bytes (also overlong forms, surrogates and an
 * incomplete end) the code point is U+FFFD; it replaces the valid start of a character, or one
 * byte.
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

#endif
