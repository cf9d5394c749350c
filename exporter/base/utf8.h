/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, one code point at a time. What is not UTF-8 becomes U+FFFD.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_REPLACEMENT = 0xfffd };

/*
 * The code point at `at`, of which size (at least 1) bytes may be read. Returns the bytes it took,
 * at least 1. Where the bytes are not UTF-8 (overlong forms, surrogates and a cut end included) the
 * code point is U+FFFD and stands for the start of a character as far as it goes, or for one byte.
 *
 * Source: "The Unicode Standard", section 3.9, table 3-7,
 * and "U+FFFD Substitution of Maximal Subparts".
 */
size_t utf8_decode(const char *at, size_t size, uint32_t *codepoint);

/*
 * Writes codepoint at out and returns the bytes it took, 1 to 4. Surrogates and what is above
 * U+10FFFF give U+FFFD.
 */
size_t utf8_encode(uint32_t codepoint, char out[4]);

#endif
