/* SPDX-License-Identifier: MIT */
/*
 * GUIDs as text.
 *
 * Source: "GUID structure (guiddef.h)", Microsoft Learn: Data1, Data2 and Data3 are integers,
 * little-endian in memory but written most significant digit first; Data4 is bytes in order.
 */
#include "base/guid.h"

/* Indexes of the bytes in the order of the text, which has a dash before the 5th, 7th, 9th and 11th
 * byte. */
static const uint8_t text_order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

static bool dash_before(size_t i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if (c >= 'a' && c <= 'f') {
		return c - 'a' + 10;
	}
	if (c >= 'A' && c <= 'F') {
		return c - 'A' + 10;
	}
	return -1;
}

void guid_format(const struct etw_guid *guid, char text[GUID_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	char *at = text;

	for (size_t i = 0; i < sizeof text_order; i++) {
		uint8_t byte = guid->bytes[text_order[i]];

		if (dash_before(i)) {
			*at++ = '-';
		}
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 0xf];
	}
	*at = '\0';
}

bool etw_guid_parse(const char *text, struct etw_guid *guid)
{
	bool braces = *text == '{';
	struct etw_guid parsed;

	text += braces;
	for (size_t i = 0; i < sizeof text_order; i++) {
		int high, low;

		if (dash_before(i) && *text++ != '-') {
			return false;
		}
		high = hex_digit(text[0]);
		if (high < 0) {
			return false; /* text[1] must not be read, because text[0] may be the NUL */
		}
		low = hex_digit(text[1]);
		if (low < 0) {
			return false;
		}
		parsed.bytes[text_order[i]] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	if (braces && *text++ != '}') {
		return false;
	}
	if (*text != '\0') {
		return false;
	}
	*guid = parsed;
	return true;
}
