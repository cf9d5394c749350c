/* SPDX-License-Identifier: MIT */
#include "base/html.h"

#include <string.h>

#include "base/utf8.h"

static void add_character(struct etw_text *html, uint32_t codepoint)
{
	char bytes[4];

	switch (codepoint) {
	case '&':
		text_add_string(html, "&amp;");
		break;
	case '<':
		text_add_string(html, "&lt;");
		break;
	case '>':
		text_add_string(html, "&gt;");
		break;
	case '"':
		text_add_string(html, "&quot;");
		break;
	case '\'':
		text_add_string(html, "&#39;");
		break;
	default:
		if (utf8_steers_terminal(codepoint)) {
			codepoint = UTF8_REPLACEMENT;
		}
		text_add(html, bytes, utf8_encode(codepoint, bytes));
		break;
	}
}

void text_add_html(struct etw_text *html, const char *text)
{
	const char *end = text + strlen(text);

	while (text < end) {
		uint32_t codepoint;

		text += utf8_decode(text, (size_t)(end - text), &codepoint);
		add_character(html, codepoint);
	}
}
