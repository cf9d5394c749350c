/* SPDX-License-Identifier: MIT */
#include "tool/json_indent.h"

static void new_line(struct text *out, unsigned depth)
{
	text_add_char(out, '\n');
	for (unsigned i = 0; i < depth; i++) {
		text_add_char(out, ' ');
	}
}

void json_indent(struct text *out, const struct text *compact)
{
	bool in_string = false;
	unsigned depth = 0;

	for (size_t i = 0; i < compact->size; i++) {
		char c = compact->data[i];
		bool empty = i + 1 < compact->size &&
			     (compact->data[i + 1] == '}' || compact->data[i + 1] == ']');

		if (in_string) {
			text_add_char(out, c);
			if (c == '\\' && i + 1 < compact->size) {
				text_add_char(out, compact->data[++i]);
			} else if (c == '"') {
				in_string = false;
			}
			continue;
		}
		if ((c == '}' || c == ']') && i > 0 && compact->data[i - 1] != '{' &&
		    compact->data[i - 1] != '[') {
			new_line(out, --depth);
		}
		text_add_char(out, c);
		switch (c) {
		case '"':
			in_string = true;
			break;
		case ':':
			text_add_char(out, ' ');
			break;
		case ',':
			new_line(out, depth);
			break;
		case '{':
		case '[':
			if (!empty) {
				new_line(out, ++depth);
			}
			break;
		default:
			break;
		}
	}
	text_add_char(out, '\n');
	out->failed |= compact->failed;
}
