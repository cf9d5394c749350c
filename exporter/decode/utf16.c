/* SPDX-License-Identifier: MIT */
/*
 * UTF-16LE to UTF-8.
 *
 * Paths and names are nearly always ASCII: it goes four units at a time, the rest one code point at
 * a time.
 */
#include "decode/utf16.h"

#include "base/cursor.h"
#include "base/text.h"
#include "base/utf8.h"

/* A word of four units: not 0 when one of them is (Bit Twiddling Hacks, "has a zero byte"). */
static uint64_t has_nul(uint64_t word)
{
	return (word - UINT64_C(0x0001000100010001)) & ~word & UINT64_C(0x8000800080008000);
}

static bool is_ascii(uint64_t word)
{
	return (word & UINT64_C(0xff80ff80ff80ff80)) == 0;
}

size_t utf16_length(const uint8_t *at, size_t units)
{
	size_t length = 0;

	while (units - length >= 4 && !has_nul(load_u64(at + 2 * length))) {
		length += 4;
	}
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

	for (size_t i = 0; i < units;) {
		uint64_t word = units - i >= 4 ? load_u64(at + 2 * i) : UINT64_MAX;
		uint32_t codepoint;

		if (sizeof block - filled < 4) {
			text_add(text, block, filled);
			filled = 0;
		}
		if (is_ascii(word)) {
			block[filled] = (char)word;
			block[filled + 1] = (char)(word >> 16);
			block[filled + 2] = (char)(word >> 32);
			block[filled + 3] = (char)(word >> 48);
			filled += 4;
			i += 4;
			continue;
		}
		codepoint = load_u16(at + 2 * i++);
		if (is_lead(codepoint) && i < units && is_trail(load_u16(at + 2 * i))) {
			codepoint = 0x10000 + ((codepoint - 0xd800) << 10) +
				    (load_u16(at + 2 * i++) - 0xdc00u);
		}
		filled += utf8_encode(codepoint, block + filled); /* a surrogate alone: U+FFFD */
	}
	text_add(text, block, filled);
}
