/* SPDX-License-Identifier: MIT */
/* UTF-16 text and GUIDs. */
#include "tests/fake_etw/internal.h"

#include <string.h>

#include "base/utf8.h"

const GUID fake_no_guid;
const GUID fake_system_trace_control_guid = {
	0x9e814aad, 0x3204, 0x11d2, { 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39 }
};

size_t fake_wide_length(const WCHAR *text)
{
	size_t length = 0;

	while (text[length] != 0) {
		length++;
	}
	return length;
}

static WCHAR lower(WCHAR c)
{
	return c >= 'A' && c <= 'Z' ? (WCHAR)(c + ('a' - 'A')) : c;
}

bool fake_wide_equal(const WCHAR *a, const WCHAR *b)
{
	size_t i = 0;

	while (a[i] != 0 && lower(a[i]) == lower(b[i])) {
		i++;
	}
	return lower(a[i]) == lower(b[i]);
}

bool fake_wide_from_utf8(const char *text, WCHAR *out, size_t size)
{
	size_t left = strlen(text);
	size_t used = 0;

	while (left > 0) {
		uint32_t codepoint;
		size_t step = utf8_decode(text, left, &codepoint);

		if (used + (codepoint >= 0x10000 ? 2 : 1) >= size) {
			return false;
		}
		if (codepoint >= 0x10000) {
			codepoint -= 0x10000;
			out[used++] = (WCHAR)(0xd800 + (codepoint >> 10));
			out[used++] = (WCHAR)(0xdc00 + (codepoint & 0x3ff));
		} else {
			out[used++] = (WCHAR)codepoint;
		}
		text += step;
		left -= step;
	}
	if (used >= size) {
		return false;
	}
	out[used] = 0;
	return true;
}

void fake_wide_to_utf8(const WCHAR *text, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; text[i] != 0 && used + 5 <= size; i++) {
		uint32_t codepoint = text[i];

		if ((codepoint & 0xfc00) == 0xd800 && (text[i + 1] & 0xfc00) == 0xdc00) {
			codepoint = 0x10000 + ((codepoint & 0x3ff) << 10) + (text[++i] & 0x3ffu);
		}
		used += utf8_encode(codepoint, out + used);
	}
	out[used] = 0;
}

bool fake_guid_equal(const GUID *a, const GUID *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}
