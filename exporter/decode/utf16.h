/* SPDX-License-Identifier: MIT */
/*
 * UTF-16LE as it stands in payloads: at any alignment, surrogates paired or not.
 */
#ifndef DECODE_UTF16_H
#define DECODE_UTF16_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Units (of two bytes) before the first NUL, or in all of units. */
size_t utf16_length(const uint8_t *at, size_t units);

/* Adds units as UTF-8, NULs too; each unpaired surrogate is U+FFFD. */
void text_add_utf16(struct text *text, const uint8_t *at, size_t units);

#endif
