/* SPDX-License-Identifier: MIT */
/*
 * etwtool's entry: picks the command.
 */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/os.h"
#include "tool/tool.h"
#include "version.h"

static const struct tool_command *const commands[] = {
	&tool_sessions, &tool_summary, &tool_stats,   &tool_providers, &tool_fields,
	&tool_dump,     &tool_check,   &tool_metrics, &tool_backfill
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void add_usage(struct text *out)
{
	text_add_string(out, "usage: etwtool COMMAND …\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		text_add_format(out, "  %-10s %s\n", commands[i]->name, commands[i]->about);
	}
	text_add_string(out,
			"\n  --version  which etwtool this is\n"
			"  --help     this text; etwtool COMMAND --help: about one of them\n"
			"\n"
			"Exit status: 0 done (a recording cut short is a warning), 1 could not "
			"run, 2 bad usage.\n");
}

static int unknown_command(const char *name)
{
	struct nearest nearest = { .word = name, .size = strlen(name) };

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		nearest_offer(&nearest, commands[i]->name);
	}
	if (nearest.best) {
		fprintf(stderr, "etwtool: unknown command \"%s\"; did you mean %s?\n", name,
			nearest.best);
	} else {
		fprintf(stderr, "etwtool: unknown command \"%s\": try etwtool --help\n", name);
	}
	return TOOL_BAD_USAGE;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	struct text out = { 0 };
	const char *name;

	if (!os_program_start(&argc, &argv, &err)) {
		fprintf(stderr, "etwtool: %s\n", err.text);
		return TOOL_FAILED;
	}
	name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		fprintf(stderr, "etwtool: which command? try etwtool --help\n");
		return TOOL_BAD_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		add_usage(&out);
		return tool_print("", &out);
	}
	if (strcmp(name, "--version") == 0) {
		text_add_format(&out, "etwtool %s (revision %s, %s, %s)\n", program_version.number,
				program_version.revision, program_version.compiler,
				program_version.arch);
		return tool_print("", &out);
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(name, commands[i]->name) == 0) {
			return tool_run(commands[i], argc - 1, argv + 1);
		}
	}
	return unknown_command(name);
}
