/* SPDX-License-Identifier: MIT */
/*
 * Arguments of subcommands: each has a table of its options, from which they are read and --help is
 * written.
 */
#include <stdio.h>
#include <string.h>

#include "config/nearest.h"
#include "tool/tool.h"

/* By bit of enum tool_shared. */
static const struct tool_flag shared_flags[] = {
	{ "--pointer-size", "4|8",
	  "pointer size of classic payloads, where records tell a wrong one" },
	{ "--schema", "FILE|DIR", "an instrumentation manifest (.man, .xml) or a folder of them" },
	{ "--builtin", NULL, "use the manifests that the program brings along" },
	{ "--format", "FORMAT", "text (default) or json" },
};

struct option {
	const struct tool_flag *flag;
	int row;         /* of the command's own; */
	unsigned shared; /* or of enum tool_shared */
};

/* A command's options by index, its own first; false behind the last. */
static bool option_at(const struct tool_command *command, int index, struct option *option)
{
	int rows = 0;

	for (; command->flags && command->flags[rows].name; rows++) {
		if (rows == index) {
			*option = (struct option){ .flag = &command->flags[rows], .row = rows };
			return true;
		}
	}
	for (unsigned i = 0; i < sizeof shared_flags / sizeof shared_flags[0]; i++) {
		if ((command->shared >> i & 1) != 0 && rows++ == index) {
			*option = (struct option){ .flag = &shared_flags[i], .shared = 1U << i };
			return true;
		}
	}
	return false;
}

static bool find_option(const struct tool_command *command, const char *name, size_t size,
			struct option *option)
{
	for (int i = 0; option_at(command, i, option); i++) {
		if (strlen(option->flag->name) == size &&
		    memcmp(option->flag->name, name, size) == 0) {
			return true;
		}
	}
	return false;
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
	struct option option;

	for (int i = 0; option_at(command, i, &option); i++) {
		nearest_offer(&nearest, option.flag->name);
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

static bool add_schema(struct tool_arguments *arguments, const char *path)
{
	struct error err;

	if (!configured_manifests_add(&arguments->manifests, path, &err)) {
		tool_complain(TOOL_BAD_USAGE, arguments->command->name, "%s", err.text);
		return false;
	}
	return true;
}

bool tool_add_builtin(struct tool_arguments *arguments)
{
	struct error err;

	if (!configured_manifests_add_builtin(&arguments->manifests, &err)) {
		tool_complain(TOOL_FAILED, arguments->command->name, "%s", err.text);
		return false;
	}
	return true;
}

static bool take_pointer_size(struct tool_arguments *arguments, const char *value)
{
	if (strcmp(value, "4") == 0 || strcmp(value, "8") == 0) {
		arguments->pointer_size = (uint8_t)(value[0] - '0');
		return true;
	}
	tool_complain(TOOL_BAD_USAGE, arguments->command->name,
		      "--pointer-size: wants 4 or 8, not \"%s\"", value);
	return false;
}

static bool take_format(struct tool_arguments *arguments, const char *value)
{
	static const char *const formats[] = { "text", "json", NULL };
	int format = tool_choice(arguments->command->name, "--format", value, formats);

	arguments->as_json = format == 1;
	return format >= 0;
}

static bool take_file(struct tool_arguments *arguments, const char *word)
{
	if (arguments->path) {
		tool_complain(TOOL_BAD_USAGE, arguments->command->name,
			      "one recording at a time, not also \"%s\"", word);
		return false;
	}
	arguments->path = word;
	return true;
}

/* False after a complaint. */
static bool take_shared(struct tool_arguments *arguments, enum tool_shared shared,
			const char *value)
{
	switch (shared) {
	case TOOL_POINTER_SIZE:
		return take_pointer_size(arguments, value);
	case TOOL_SCHEMA:
		return add_schema(arguments, value);
	case TOOL_BUILTIN:
		return tool_add_builtin(arguments);
	case TOOL_TEXT_OR_JSON:
		return take_format(arguments, value);
	case TOOL_FILE:
		return take_file(arguments, value);
	}
	return false;
}

enum { OPTION = 0 }; /* of step(), besides TOOL_WORD and what follows it */

static int step(struct tool_arguments *arguments, const char **value, struct option *option)
{
	const char *argument, *equals;
	size_t size;

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
	if (!find_option(arguments->command, argument, size, option)) {
		return unknown_option(arguments, argument, size);
	}
	if (!option->flag->value) {
		*value = NULL;
		return !equals ? OPTION :
				 stop(arguments,
				      tool_complain(TOOL_BAD_USAGE, arguments->command->name,
						    "%s takes no value", option->flag->name));
	}
	if (!equals && arguments->at >= arguments->argc) {
		return stop(arguments,
			    tool_complain(TOOL_BAD_USAGE, arguments->command->name, "%s: wants %s",
					  option->flag->name, option->flag->value));
	}
	*value = equals ? equals + 1 : arguments->argv[arguments->at++];
	return OPTION;
}

int tool_next(struct tool_arguments *arguments, const char **value)
{
	for (;;) {
		struct option option = { .shared = TOOL_FILE };
		int next = step(arguments, value, &option);

		if (next != OPTION &&
		    (next != TOOL_WORD || (arguments->command->shared & TOOL_FILE) == 0)) {
			return next;
		}
		if (option.shared == 0) {
			return option.row;
		}
		if (!take_shared(arguments, (enum tool_shared)option.shared, *value)) {
			return stop(arguments, TOOL_BAD_USAGE);
		}
	}
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
	struct option option;

	text_add_format(out, "usage: etwtool %s %s\n\n%s.\n\n", command->name, command->synopsis,
			command->about);
	for (int i = 0; option_at(command, i, &option); i++) {
		add_flag(out, option.flag);
	}
	add_flag(out, &(struct tool_flag){ "--help", NULL, "this text" });
	if (command->more) {
		text_add_format(out, "\n%s", command->more);
	}
}
