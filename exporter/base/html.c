/* SPDX-License-Identifier: MIT */
#include "base/html.h"

#include <string.h>

static void add_character(struct text *html, char c)
{
	switch (c) {
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
		if ((unsigned char)c < ' ' || c == 0x7f) {
			text_add_string(html, "\xef\xbf\xbd");
		} else {
			text_add_char(html, c);
		}
		break;
	}
}

void text_add_html(struct text *html, const char *text)
{
	struct text clean = { 0 };

	text_add_utf8_clean(&clean, text, strlen(text));
	for (size_t i = 0; i < clean.size; i++) {
		add_character(html, clean.data[i]);
	}
	html->failed |= clean.failed;
	text_free(&clean);
}
