/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands print: results on standard output, complaints on standard error.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "metrics/exposition.h"
#include "tool/tool.h"

int tool_complain(int status, const char *command, const char *format, ...)
{
	char sentence[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	/* Paths can hold anything, and a complaint is one line. */
	for (char *at = sentence; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f) {
			*at = '?';
		}
	}
	fprintf(stderr, "etwtool %s: %s\n", command, sentence);
	return status;
}

void text_add_shown(struct text *out, const char *name)
{
	struct text quoted = { 0 };
	struct json json;

	json_init(&json, &quoted, false);
	json_string(&json, name);
	if (!quoted.failed && quoted.size >= 2) {
		text_add(out, quoted.data + 1, quoted.size - 2);
	}
	out->failed |= quoted.failed;
	text_free(&quoted);
}

bool tool_write(const char *command, const struct text *text)
{
	if (text->failed) {
		tool_complain(TOOL_FAILED, command, "no memory for the output");
		return false;
	}
	errno = 0;
	if ((text->size > 0 && fwrite(text->data, 1, text->size, stdout) != text->size) ||
	    fflush(stdout) != 0) {
		if (errno != EPIPE) {
			tool_complain(TOOL_FAILED, command, "standard output cannot be written: %s",
				      strerror(errno));
		}
		return false;
	}
	return true;
}

int tool_print(const char *command, struct text *text)
{
	int status = tool_write(command, text) ? TOOL_DONE : TOOL_FAILED;

	text_free(text);
	return status;
}

/* ---- JSON for people ---- */

static void new_line(struct text *out, unsigned depth)
{
	text_add_char(out, '\n');
	for (unsigned i = 0; i < depth; i++) {
		text_add_char(out, ' ');
	}
}

static void add_indented(struct text *out, const struct text *compact)
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

struct json *tool_json_begin(struct tool_json *page)
{
	page->compact = (struct text){ 0 };
	json_init(&page->json, &page->compact, false);
	json_object_begin(&page->json);
	return &page->json;
}

void tool_json_end(struct tool_json *page, struct text *out)
{
	json_object_end(&page->json);
	add_indented(out, &page->compact);
	text_free(&page->compact);
}

/* ---- expositions ---- */

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

void text_add_exposition(struct text *out, struct registry *registry)
{
	exposition_write(registry, add_chunk, out);
}
