/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, one code point at a time.
 */
#include "base/utf8.h"

size_t utf8_decode(const char *at, size_t size, uint32_t *codepoint)
{
	const uint8_t *bytes = (const uint8_t *)at;
	uint8_t lead = bytes[0];
	uint8_t low = 0x80, high = 0xbf; /* range of the second byte */
	size_t length;
	uint32_t value;

	if (lead < 0x80) {
		*codepoint = lead;
		return 1;
	}
	if (lead >= 0xc2 && lead <= 0xdf) {
		length = 2;
		value = lead & 0x1fu;
	} else if (lead >= 0xe0 && lead <= 0xef) {
		length = 3;
		value = lead & 0x0fu;
		low = lead == 0xe0 ? 0xa0 : low;   /* lower: overlong */
		high = lead == 0xed ? 0x9f : high; /* higher: surrogates */
	} else if (lead >= 0xf0 && lead <= 0xf4) {
		length = 4;
		value = lead & 0x07u;
		low = lead == 0xf0 ? 0x90 : low;   /* lower: overlong */
		high = lead == 0xf4 ? 0x8f : high; /* higher: above U+10FFFF */
	} else {
		*codepoint = UTF8_REPLACEMENT;
		return 1;
	}
	for (size_t i = 1; i < length; i++) {
		if (i == size || bytes[i] < low || bytes[i] > high) {
			*codepoint = UTF8_REPLACEMENT;
			return i;
		}
		value = value << 6 | (bytes[i] & 0x3fu);
		low = 0x80;
		high = 0xbf;
	}
	*codepoint = value;
	return length;
}

size_t utf8_encode(uint32_t codepoint, char out[4])
{
	if (codepoint > 0x10ffff || (codepoint >= 0xd800 && codepoint <= 0xdfff)) {
		codepoint = UTF8_REPLACEMENT;
	}
	if (codepoint < 0x80) {
		out[0] = (char)codepoint;
		return 1;
	}
	if (codepoint < 0x800) {
		out[0] = (char)(0xc0 | codepoint >> 6);
		out[1] = (char)(0x80 | (codepoint & 0x3f));
		return 2;
	}
	if (codepoint < 0x10000) {
		out[0] = (char)(0xe0 | codepoint >> 12);
		out[1] = (char)(0x80 | (codepoint >> 6 & 0x3f));
		out[2] = (char)(0x80 | (codepoint & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | codepoint >> 18);
	out[1] = (char)(0x80 | (codepoint >> 12 & 0x3f));
	out[2] = (char)(0x80 | (codepoint >> 6 & 0x3f));
	out[3] = (char)(0x80 | (codepoint & 0x3f));
	return 4;
}

bool utf8_steers_terminal(uint32_t codepoint)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	};

	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
		if (codepoint <= ranges[i].last) {
			return codepoint >= ranges[i].first;
		}
	}
	return false;
}

unsigned utf8_columns(uint32_t codepoint)
{
	static const struct {
		uint32_t first, last;
	} wide[] = {
		{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },
		{ 0x23e9, 0x23f3 },   { 0x25fd, 0x27bf },   { 0x2b1b, 0x2b55 },
		{ 0x2e80, 0xa4cf },   { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff },   { 0xfe10, 0xfe6f },   { 0xff01, 0xff60 },
		{ 0xffe0, 0xffe6 },   { 0x16fe0, 0x18dff }, { 0x1aff0, 0x1b2ff },
		{ 0x1d300, 0x1d37f }, { 0x1f000, 0x1faff }, { 0x20000, 0x3fffd },
	};

	for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
		if (codepoint <= wide[i].last) {
			return codepoint >= wide[i].first ? 2 : 1;
		}
	}
	return 1;
}
