/* SPDX-License-Identifier: MIT */
/*
 * etwtool's entry: picks the command and reads its command line.
 *
 * Each command is a struct tool_command. Bits of it select the options that several commands share.
 * Their values are in struct tool_arguments, which is the first member of the struct of each
 * command; so one table of offsets serves all commands. Words keep their order, and the command
 * decides what they mean. --help and bad usage are handled here, before the command runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/os.h"
#include "base/text.h"
#include "config/builtin.h"
#include "etwtool/recording.h"
#include "etwtool/tool.h"
#include "exporter/track/repeats.h"
#include "exporter/version.h"

/* ---- the command line of a command ---- */

enum { OPTIONS_MOST = 32, HELP_COLUMN = 27 };

#define AT(member) .offset = offsetof(struct tool_arguments, member)

static const char *const pointer_sizes[] = { "4", "8", NULL };
static const char *const formats[] = { "text", "json", NULL };

static bool read_schema(void *manifests, const char *path, struct etw_error *err)
{
	return etw_configured_manifests_add(manifests, path, false, err);
}

static void show_schema_warning(void *context, const char *sentence)
{
	const struct tool_arguments *arguments = context;

	tool_complain(TOOL_DONE, arguments->command->name, "%s", sentence);
}

/* One row for each bit of enum tool_shared. Every command has the last two. */
static const struct command_option shared_options[] = {
	{ "--pointer-size", "4|8",
	  "pointer size of classic events, if the recording states a wrong one", OPTION_DIGIT,
	  AT(pointer_size), .words = pointer_sizes },
	{ "--schema", "FILE|DIR", "an instrumentation manifest (.man, .xml) or a folder of them",
	  OPTION_READ, AT(manifests), .read = read_schema },
	{ "--builtin", NULL,
	  "use the built-in manifests, which is the default except in jsonl and summary",
	  OPTION_SET, AT(builtin) },
	{ "--no-builtin", NULL, "use only what the recording and --schema describe", OPTION_SET,
	  AT(no_builtin) },
	{ "--format", "FORMAT", "text (default) or json", OPTION_WORD, AT(as_json),
	  .words = formats },
	{ "--collector.", "NAME", "switch a collector on or off; overrides the configuration",
	  OPTION_SWITCH, AT(switches), .read = collector_switches_read },
	{ "--config.file", "FILE", "configuration whose process_names give processes their names",
	  OPTION_TEXT, AT(names_config) },
	{ "--help", NULL, "print this help", OPTION_HELP, AT(help) },
	{ "--threads", .gone = "one thread reads a recording, so leave the flag out" },
};

enum { SHARED_COUNT = sizeof shared_options / sizeof shared_options[0], ALWAYS_THERE = 2 };

static void collect_options(const struct tool_command *command,
			    struct command_option options[OPTIONS_MOST])
{
	size_t count = 0;

	for (; command->options && command->options[count].name; count++) {
		options[count] = command->options[count];
	}
	for (unsigned i = 0; i < SHARED_COUNT; i++) {
		if (i + ALWAYS_THERE >= SHARED_COUNT || (command->shared >> i & 1) != 0) {
			options[count++] = shared_options[i];
		}
	}
	options[count].name = NULL;
}

static bool add_word(void *target, const char *word, struct etw_error *err)
{
	struct tool_arguments *arguments = target;
	const char *too_many = arguments->command->too_many;

	if (arguments->word_count == arguments->command->words_most) {
		return too_many ? error_set(err, ETW_ERROR_CONFIG, "%s \"%s\"", too_many, word) :
				  recording_refuse_second(arguments->words[0], word, err);
	}
	arguments->words[arguments->word_count++] = word;
	return true;
}

static int print_help(const struct tool_command *command, const struct command_option *options)
{
	struct etw_text out = { 0 };

	/* Every command has --help and a hidden option, so these do not count as [OPTIONS]. */
	text_add_format(&out, "usage: etwtool %s%s%s%s\n\n%s.\n\n", command->name,
			options[ALWAYS_THERE].name ? " [OPTIONS]" : "",
			command->synopsis[0] ? " " : "", command->synopsis, command->about);
	command_line_help(&out, options, ' ', HELP_COLUMN);
	if (command->more) {
		text_add_format(&out, "\n%s", command->more);
	}
	return tool_print(command->name, &out);
}

static int read_and_run(struct tool_arguments *arguments, int argc, char **argv)
{
	const struct tool_command *command = arguments->command;
	struct command_option options[OPTIONS_MOST];
	const struct command_line line = { .options = options, .word = add_word };
	struct etw_error err;

	collect_options(command, options);
	if (!command_line_read(&line, argc, argv, arguments, &err)) {
		return tool_complain(TOOL_BAD_USAGE, command->name, "%s", err.text);
	}
	if (arguments->help) {
		return print_help(command, options);
	}
	if ((command->shared & TOOL_FILE) != 0 && arguments->word_count == 0) {
		return tool_complain(TOOL_BAD_USAGE, command->name, "name a recording");
	}
	return command->run(arguments);
}

/*
 * Results may mix the old and the new contents, because the file may have been opened several
 * times.
 */
static void warn_of_change(const char *path, const char *change)
{
	static char said[1024];

	if (strncmp(said, path, sizeof said - 1) != 0) {
		snprintf(said, sizeof said, "%s", path);
		tool_complain(TOOL_DONE, NULL, "warning: %s %s while it was read", path, change);
	}
}

/* Runs a command; argv[0] is its name. Returns an exit status. */
static int run_command(const struct tool_command *command, int argc, char **argv)
{
	struct tool_arguments *arguments = calloc(1, command->size);
	int status;

	if (!arguments) {
		return tool_complain(TOOL_FAILED, command->name, "no memory");
	}
	arguments->command = command;
	arguments->manifests.warnings =
		(struct etw_manifest_warnings){ show_schema_warning, arguments };
	etw_file_find_repeats(&repeat_finder);
	etw_file_report_changes(warn_of_change);
	etw_packed_keep_start();
	status = read_and_run(arguments, argc, argv);
	etw_packed_keep_end();
	/*
	 * This follows even another complaint, because the cause of that may have been missing
	 * memory.
	 */
	if (memory_has_losses()) {
		status = tool_complain(
			TOOL_FAILED, command->name,
			"no memory for everything: what is printed may be incomplete");
	}
	if (command->done) {
		command->done(arguments);
	}
	etw_configured_manifests_done(&arguments->manifests);
	collector_switches_done(&arguments->switches);
	free(arguments);
	return status;
}

/* ---- commands ---- */

/* The commands in the order of --help. A row with a title begins a group. */
static const struct {
	const char *title;
	const struct tool_command *command;
} commands[] = {
	{ "look at recordings", &tool_report },
	{ NULL, &tool_stats },
	{ NULL, &tool_top },
	{ NULL, &tool_summary },
	{ NULL, &tool_doctor },
	{ NULL, &tool_diff },
	{ NULL, &tool_providers },
	{ NULL, &tool_fields },
	{ NULL, &tool_dump },
	{ "change and convert recordings", &tool_relog },
	{ NULL, &tool_backfill },
	{ "configure the exporter", &tool_check },
	{ NULL, &tool_metrics },
	{ "on Windows", &tool_record },
	{ NULL, &tool_sessions },
};

static const char about[] =
	"Looks at recordings, configurations and sessions of etw_exporter, and changes recordings";

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], VERB_SIZE_MIN = 5 };

static void add_usage(struct etw_text *out)
{
	text_add_string(out, "usage: etwtool COMMAND …\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (commands[i].title) {
			text_add_format(out, "\n%s:\n", commands[i].title);
		}
		text_add_format(out, "  %-10s %s\n", commands[i].command->name,
				commands[i].command->about);
	}
	text_add_string(
		out,
		"\n  --version, -V  print the version\n"
		"  --help, -h     print this help; etwtool COMMAND --help describes one command\n"
		"\n"
		"Exit status: 0 success (a truncated recording is a warning), 1 could not "
		"run, 2 bad usage.\n");
}

/* Describes all commands as JSON, for packaging/pages.py. */
static void add_description(struct etw_text *out)
{
	struct json json;

	json_init(&json, out, false);
	json_object_begin(&json);
	json_member_string(&json, "program", "etwtool");
	json_member_string(&json, "version", program_version.number);
	json_member_string(&json, "synopsis", "COMMAND …");
	json_member_string(&json, "about", about);
	json_member_array(&json, "collectors"); /* values of --[no-]collector.NAME */
	for (size_t i = 0; i < builtin_collector_count; i++) {
		json_string(&json, builtin_collectors[i].name);
	}
	json_array_end(&json);
	json_member_array(&json, "commands");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		struct command_option options[OPTIONS_MOST];

		collect_options(commands[i].command, options);
		json_object_begin(&json);
		json_member_string(&json, "name", commands[i].command->name);
		json_member_string(&json, "synopsis", commands[i].command->synopsis);
		json_member_string(&json, "about", commands[i].command->about);
		json_member_string(&json, "more", commands[i].command->more);
		json_key(&json, "options");
		command_line_describe(&json, options);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	text_add_char(out, '\n');
}

/* Returns the name of the first command whose sentence for --help has the word, or a longer word
 * that begins with it: "merge" finds "merged"; NULL if there is none. */
static const char *command_that_does(const char *word)
{
	size_t size = strlen(word);

	for (size_t i = 0; size >= VERB_SIZE_MIN && i < COMMAND_COUNT; i++) {
		for (const char *at = commands[i].command->about; at; at = strchr(at, ' ')) {
			at += *at == ' ';
			if (text_starts_nocase(at, strlen(at), word, size)) {
				return commands[i].command->name;
			}
		}
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	struct nearest nearest = { .word = name, .size = strlen(name) };
	const char *does;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		nearest_offer(&nearest, commands[i].command->name);
	}
	if (nearest.best) {
		return tool_complain(TOOL_BAD_USAGE, NULL,
				     "unknown command \"%s\"; did you mean %s?", name,
				     nearest.best);
	}
	if (strchr(name, '.') || os_path_name(name) != name) {
		return tool_complain(TOOL_BAD_USAGE, NULL,
				     "name a command before \"%s\", as in etwtool report %s", name,
				     name);
	}
	does = command_that_does(name);
	return tool_complain(TOOL_BAD_USAGE, NULL, "unknown command \"%s\": try etwtool %s%s--help",
			     name, does ? does : "", does ? " " : "");
}

static const struct tool_command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(name, commands[i].command->name) == 0) {
			return commands[i].command;
		}
	}
	return NULL;
}

/* Runs "help COMMAND" as "COMMAND --help". */
static int help_with(char *name)
{
	static char flag[] = "--help";
	char *words[] = { name, flag, NULL };
	const struct tool_command *command = find_command(name);

	return command ? run_command(command, 2, words) : unknown_command(name);
}

int main(int argc, char **argv)
{
	const struct tool_command *command;
	struct etw_error err = { 0 };
	struct etw_text out = { 0 };
	const char *name;

	if (!os_program_start(&argc, &argv, &err)) {
		return tool_complain(TOOL_FAILED, NULL, "%s", err.text);
	}
	progress_allow();
	name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		return tool_complain(TOOL_BAD_USAGE, NULL,
				     "name a command; etwtool --help lists them");
	}
	if (strcmp(name, "help") == 0 && argc > 2) {
		return help_with(argv[2]);
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		add_usage(&out);
		return tool_print(NULL, &out);
	}
	if (strcmp(name, "--describe") == 0) {
		add_description(&out);
		return tool_print(NULL, &out);
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 ||
	    strcmp(name, "version") == 0) {
		text_add_format(&out, "etwtool %s (revision %s, %s, %s)\n", program_version.number,
				program_version.revision, program_version.compiler,
				program_version.arch);
		return tool_print(NULL, &out);
	}
	command = find_command(name);
	return command ? run_command(command, argc - 1, argv + 1) : unknown_command(name);
}
