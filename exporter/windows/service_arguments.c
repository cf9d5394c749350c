/* SPDX-License-Identifier: MIT */
#include "windows/service_arguments.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_CHARACTERS = 32766 }; /* "CreateProcessW function": 32767 with the end */

static const char *const path_flags[] = { "--config.file", "--replay.file" };

static void add_backslashes(struct text *line, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		text_add_char(line, '\\');
	}
}

void service_add_argument(struct text *line, const char *argument)
{
	size_t backslashes = 0; /* right before at; written once */

	if (*argument != '\0' && strpbrk(argument, " \t\n\v\"") == NULL) {
		text_add_string(line, argument);
		return;
	}
	text_add_char(line, '"');
	for (const char *at = argument; *at; at++) {
		if (*at == '"') {
			add_backslashes(line, backslashes + 1);
		}
		backslashes = *at == '\\' ? backslashes + 1 : 0;
		text_add_char(line, *at);
	}
	add_backslashes(line, backslashes);
	text_add_char(line, '"');
}

/* What follows the name of this flag in argument: "", "=value"; NULL: it is another one. */
static const char *after_flag(const char *argument, const char *flag)
{
	size_t size = strlen(flag);

	if (strncmp(argument, flag, size) != 0 ||
	    (argument[size] != '\0' && argument[size] != '=')) {
		return NULL;
	}
	return argument + size;
}

/* Adds "flag=<path from the root>". */
static void add_path(struct text *line, const char *flag, const char *path,
		     service_absolute_path *absolute)
{
	struct text argument = { 0 };
	char *full = absolute(path);

	text_add_string(&argument, flag);
	text_add_char(&argument, '=');
	text_add_string(&argument, full ? full : "");
	text_add_char(line, ' ');
	if (argument.failed || !full) {
		line->failed = true;
	} else {
		service_add_argument(line, argument.data);
	}
	text_free(&argument);
	free(full);
}

/* Adds the argument at *index, and its value if that is the next one, which *index moves to. */
static void add_next(struct text *line, int argc, char **argv, int *index,
		     service_absolute_path *absolute)
{
	const char *argument = argv[*index];
	const char *rest = after_flag(argument, "--service");

	if (rest) {
		*index += *rest == '\0';
		return;
	}
	for (size_t i = 0; i < sizeof path_flags / sizeof path_flags[0]; i++) {
		rest = after_flag(argument, path_flags[i]);
		if (rest && *rest == '=') {
			add_path(line, path_flags[i], rest + 1, absolute);
			return;
		}
		if (rest && *index + 1 < argc) {
			add_path(line, path_flags[i], argv[++*index], absolute);
			return;
		}
	}
	text_add_char(line, ' ');
	service_add_argument(line, argument);
}

bool service_command_line(struct text *line, const char *program, int argc, char **argv,
			  service_absolute_path *absolute, struct error *err)
{
	/* Always in quotes: of a path with blanks and without them, Windows tries every beginning.
	 */
	text_add_char(line, '"');
	text_add_string(line, program);
	text_add_string(line, "\" --service=run");
	for (int i = 1; i < argc; i++) {
		add_next(line, argc, argv, &i, absolute);
	}
	if (line->failed) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for the service's command line");
	}
	/* UTF-16 has at most as many characters as UTF-8 has bytes. */
	if (line->size > LINE_MAX_CHARACTERS) {
		return error_set(err, ERROR_CONFIG,
				 "a service's command line has room for %d characters, not %zu",
				 LINE_MAX_CHARACTERS, line->size);
	}
	return true;
}
