/* SPDX-License-Identifier: MIT */
/*
 * UTF-16LE to UTF-8.
 *
 * Paths and names are nearly always ASCII: runs of it are copied in blocks, the rest goes one code
 * point at a time.
 */
#include "decode/utf16.h"

#include "base/cursor.h"
#include "base/utf8.h"

size_t utf16_length(const uint8_t *at, size_t units)
{
	size_t length = 0;

	while (length < units && (at[2 * length] | at[2 * length + 1]) != 0) {
		length++;
	}
	return length;
}

static bool is_lead(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_trail(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

void text_add_utf16(struct text *text, const uint8_t *at, size_t units)
{
	char block[128];
	size_t filled = 0;

	for (size_t i = 0; i < units; i++) {
		uint32_t codepoint = load_u16(at + 2 * i);

		if (sizeof block - filled < 4) {
			text_add(text, block, filled);
			filled = 0;
		}
		if (codepoint < 0x80) {
			block[filled++] = (char)codepoint;
			continue;
		}
		if (is_lead(codepoint) && i + 1 < units && is_trail(load_u16(at + 2 * i + 2))) {
			i++;
			codepoint = 0x10000 + ((codepoint - 0xd800) << 10) +
				    (load_u16(at + 2 * i) - 0xdc00u);
		}
		filled += utf8_encode(codepoint, block + filled); /* a surrogate alone: U+FFFD */
	}
	text_add(text, block, filled);
}
