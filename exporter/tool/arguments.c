/* SPDX-License-Identifier: MIT */
/*
 * Arguments of subcommands: each has a table of its options, from which they are read and --help is
 * written.
 */
#include <stdio.h>
#include <string.h>

#include "config/nearest.h"
#include "tool/tool.h"

/* The row of an option's name; -1: none. */
static int find_flag(const struct tool_command *command, const char *name, size_t size)
{
	for (int i = 0; command->flags[i].name; i++) {
		if (strlen(command->flags[i].name) == size &&
		    memcmp(command->flags[i].name, name, size) == 0) {
			return i;
		}
	}
	return -1;
}

static int stop(struct tool_arguments *arguments, int status)
{
	arguments->status = status;
	return TOOL_STOP;
}

static int unknown_option(struct tool_arguments *arguments, const char *name, size_t size)
{
	const struct tool_command *command = arguments->command;
	struct nearest nearest = { .word = name, .size = size };

	for (int i = 0; command->flags[i].name; i++) {
		nearest_offer(&nearest, command->flags[i].name);
	}
	nearest_offer(&nearest, "--help");
	return stop(arguments, nearest.best ?
				       tool_complain(TOOL_BAD_USAGE, command->name,
						     "unknown option %.*s; did you mean %s?",
						     (int)size, name, nearest.best) :
				       tool_complain(TOOL_BAD_USAGE, command->name,
						     "unknown option %.*s: try etwtool %s --help",
						     (int)size, name, command->name));
}

static int print_help(struct tool_arguments *arguments)
{
	struct text out = { 0 };
	int status;

	tool_help(arguments->command, &out);
	status = tool_write(arguments->command->name, &out) ? TOOL_DONE : TOOL_FAILED;
	text_free(&out);
	return stop(arguments, status);
}

int tool_next(struct tool_arguments *arguments, const char **value)
{
	const char *argument, *equals;
	const struct tool_flag *flag;
	size_t size;
	int row;

	if (!arguments->plain && arguments->at < arguments->argc &&
	    strcmp(arguments->argv[arguments->at], "--") == 0) {
		arguments->plain = true;
		arguments->at++;
	}
	if (arguments->at >= arguments->argc) {
		return TOOL_END;
	}
	argument = arguments->argv[arguments->at++];
	*value = argument;
	if (arguments->plain || argument[0] != '-' || argument[1] == '\0') {
		return TOOL_WORD;
	}
	if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
		return print_help(arguments);
	}
	equals = strchr(argument, '=');
	size = equals ? (size_t)(equals - argument) : strlen(argument);
	row = find_flag(arguments->command, argument, size);
	if (row < 0) {
		return unknown_option(arguments, argument, size);
	}
	flag = &arguments->command->flags[row];
	if (!flag->value) {
		*value = NULL;
		return !equals ? row :
				 stop(arguments,
				      tool_complain(TOOL_BAD_USAGE, arguments->command->name,
						    "%s takes no value", flag->name));
	}
	if (!equals && arguments->at >= arguments->argc) {
		return stop(arguments, tool_complain(TOOL_BAD_USAGE, arguments->command->name,
						     "%s: wants %s", flag->name, flag->value));
	}
	*value = equals ? equals + 1 : arguments->argv[arguments->at++];
	return row;
}

bool tool_take_file(struct tool_arguments *arguments, const char *word, const char **path)
{
	if (*path) {
		arguments->status = tool_complain(TOOL_BAD_USAGE, arguments->command->name,
						  "one recording at a time, not also \"%s\"", word);
		return false;
	}
	*path = word;
	return true;
}

bool tool_pointer_size(const char *command, const char *value, uint8_t *pointer_size)
{
	if (strcmp(value, "4") == 0 || strcmp(value, "8") == 0) {
		*pointer_size = (uint8_t)(value[0] - '0');
		return true;
	}
	tool_complain(TOOL_BAD_USAGE, command, "--pointer-size: wants 4 or 8, not \"%s\"", value);
	return false;
}

bool tool_count(const char *command, const char *flag, const char *value, uint64_t *count)
{
	if (parse_u64(value, strlen(value), count) && *count > 0) {
		return true;
	}
	tool_complain(TOOL_BAD_USAGE, command, "%s: wants a number above 0, not \"%s\"", flag,
		      value);
	return false;
}

bool tool_schema(const char *command, const char *path, struct given_manifests *manifests)
{
	struct error err;

	if (!given_manifests_add(manifests, path, &err)) {
		tool_complain(TOOL_BAD_USAGE, command, "%s", err.text);
		return false;
	}
	return true;
}

bool tool_builtin(const char *command, struct given_manifests *manifests)
{
	struct error err;

	if (!given_manifests_add_builtin(manifests, &err)) {
		tool_complain(TOOL_FAILED, command, "%s", err.text);
		return false;
	}
	return true;
}

int tool_choice(const char *command, const char *flag, const char *value, const char *const *words)
{
	struct nearest nearest = { .word = value, .size = strlen(value) };
	struct text known = { 0 };

	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			text_free(&known);
			return i;
		}
		nearest_offer(&nearest, words[i]);
		text_add_format(&known, "%s%s", i > 0 ? ", " : "", words[i]);
	}
	if (nearest.best) {
		tool_complain(TOOL_BAD_USAGE, command, "%s: unknown word \"%s\"; did you mean %s?",
			      flag, value, nearest.best);
	} else {
		tool_complain(TOOL_BAD_USAGE, command, "%s: wants one of %s, not \"%s\"", flag,
			      known.data ? known.data : "", value);
	}
	text_free(&known);
	return -1;
}

static void add_flag(struct text *out, const struct tool_flag *flag)
{
	enum { HELP_COLUMN = 22 };
	size_t start = out->size;

	text_add_format(out, "  %s%s%s", flag->name, flag->value ? " " : "",
			flag->value ? flag->value : "");
	do {
		text_add_char(out, ' ');
	} while (!out->failed && out->size - start < HELP_COLUMN);
	text_add_string(out, flag->help);
	text_add_char(out, '\n');
}

void tool_help(const struct tool_command *command, struct text *out)
{
	text_add_format(out, "usage: etwtool %s %s\n\n%s.\n\n", command->name, command->synopsis,
			command->about);
	for (const struct tool_flag *flag = command->flags; flag->name; flag++) {
		add_flag(out, flag);
	}
	add_flag(out, &(struct tool_flag){ "--help", NULL, "this text" });
	if (command->more) {
		text_add_format(out, "\n%s", command->more);
	}
}
