/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands print: results on standard output, complaints on standard error.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
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
