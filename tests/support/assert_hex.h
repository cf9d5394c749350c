/* SPDX-License-Identifier: MIT */
/*
 * Compares bytes with hexadecimal digits as a person writes them.
 */
#ifndef SUPPORT_ASSERT_HEX_H
#define SUPPORT_ASSERT_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Fails the test unless bytes are these digits, lower case; blanks between them do not count. */
void assert_hex(const uint8_t *bytes, size_t size, const char *expected);

#endif
