/* SPDX-License-Identifier: MIT */
/*
 * Errors as sentences to which callers add context.
 *
 * Sentences quote names and values from recordings and configurations. Therefore each formatted
 * text becomes one line of UTF-8 without characters that control a terminal, and a text that is too
 * long is cut between two characters and ends in "...".
 */
#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

/* A prefix may be a long path. At least this many bytes of the sentence after it are kept, because
 * they are more important. */
enum { TEXT_KEPT_SIZE = 256 };

/* Copies the part of text that fits into size bytes, as one line of UTF-8. Returns its length. */
static size_t copy_line(char *line, size_t size, const char *text)
{
	size_t left = strlen(text);
	size_t filled = 0, filled_before_dots = 0;

	while (left > 0) {
		uint32_t codepoint;
		char encoded[4];
		size_t encoded_size;
		size_t taken = utf8_decode(text, left, &codepoint);

		if (utf8_steers_terminal(codepoint)) {
			codepoint = '?';
		}
		encoded_size = utf8_encode(codepoint, encoded);
		if (encoded_size > size - 1 - filled) {
			memcpy(line + filled_before_dots, "...", 3);
			filled = filled_before_dots + 3;
			break;
		}
		memcpy(line + filled, encoded, encoded_size);
		filled += encoded_size;
		if (filled + 3 <= size - 1) {
			filled_before_dots = filled;
		}
		text += taken;
		left -= taken;
	}
	line[filled] = '\0';
	return filled;
}

bool error_set(struct etw_error *err, enum etw_error_code code, const char *format, ...)
{
	char text[2 * sizeof err->text]; /* separate, because an argument may be err->text */
	va_list args;

	if (code == ETW_ERROR_NO_MEMORY) {
		memory_note_loss();
	}
	if (!err) {
		return false;
	}
	va_start(args, format);
	if (vsnprintf(text, sizeof text, format, args) < 0) {
		text[0] = '\0';
	}
	va_end(args);
	err->code = code;
	copy_line(err->text, sizeof err->text, text);
	return false;
}

bool error_no_memory(struct etw_error *err, const char *what)
{
	return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for %s", what);
}

bool error_prefix(struct etw_error *err, const char *format, ...)
{
	char formatted[2 * sizeof err->text];
	char text[sizeof err->text];
	size_t text_size, text_kept_size, prefix_size;
	va_list args;

	if (!err) {
		return false;
	}
	va_start(args, format);
	if (vsnprintf(formatted, sizeof formatted, format, args) < 0) {
		formatted[0] = '\0';
	}
	va_end(args);
	text_size = strlen(err->text);
	memcpy(text, err->text, text_size + 1);
	text_kept_size = text_size < TEXT_KEPT_SIZE ? text_size : TEXT_KEPT_SIZE;
	prefix_size = copy_line(err->text, sizeof err->text - 2 - text_kept_size, formatted);
	if (text_size > 0) {
		memcpy(err->text + prefix_size, ": ", 2);
		copy_line(err->text + prefix_size + 2, sizeof err->text - prefix_size - 2, text);
	}
	return false;
}
