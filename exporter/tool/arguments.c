/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands share: options, complaints, output.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

bool tool_option(int argc, char **argv, int *at, const char *name, const char **value)
{
	const char *argument = argv[*at];
	size_t size = strlen(name);

	if (strncmp(argument, name, size) != 0) {
		return false;
	}
	if (argument[size] == '=') {
		*value = argument + size + 1;
		return true;
	}
	if (argument[size] != '\0') {
		return false;
	}
	*value = *at + 1 < argc ? argv[++*at] : NULL;
	return true;
}

bool tool_pointer_size(const char *command, const char *value, uint8_t *pointer_size)
{
	if (value && (strcmp(value, "4") == 0 || strcmp(value, "8") == 0)) {
		*pointer_size = (uint8_t)(value[0] - '0');
		return true;
	}
	tool_complain(TOOL_BAD_USAGE, command, "--pointer-size: wants 4 or 8, not \"%s\"",
		      value ? value : "");
	return false;
}

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

bool tool_write(const char *command, const struct text *text)
{
	if (text->failed) {
		tool_complain(TOOL_FAILED, command, "no memory for the output");
		return false;
	}
	errno = 0;
	if ((text->size > 0 && fwrite(text->data, 1, text->size, stdout) != text->size) ||
	    fflush(stdout) != 0) {
		tool_complain(TOOL_FAILED, command, "standard output cannot be written: %s",
			      strerror(errno));
		return false;
	}
	return true;
}
