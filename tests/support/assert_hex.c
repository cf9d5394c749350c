/* SPDX-License-Identifier: MIT */
#include "tests/support/assert_hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/text.h"

void assert_hex(const uint8_t *bytes, size_t size, const char *expected)
{
	struct etw_text text = { 0 };
	struct etw_text compact = { 0 };

	text_add_hex(&text, bytes, size);
	for (const char *at = expected; *at; at++) {
		if (*at != ' ') {
			text_add_char(&compact, *at);
		}
	}
	assert_false(text.failed || compact.failed);
	assert_string_equal(text.data, compact.data);
	text_free(&text);
	text_free(&compact);
}
