/* SPDX-License-Identifier: MIT */
/*
 * Compares bytes with hexadecimal digits as a person writes them.
 */
#ifndef SUPPORT_ASSERT_HEX_H
#define SUPPORT_ASSERT_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Fails the test unless the bytes are these lower-case digits; blanks are ignored. */
void assert_hex(const uint8_t *bytes, size_t size, const char *expected);

#endif
