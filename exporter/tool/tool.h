/* SPDX-License-Identifier: MIT */
/*
 * etwtool: what one wants to know about a recording or a configuration without running the
 * exporter. One file a subcommand.
 */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "decode/manifest_load.h"

enum tool_exit { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_BAD_USAGE = 2 };

/* ---- subcommands and their arguments (arguments.c) ---- */

/* An option, written `--name value` or `--name=value` anywhere behind the subcommand. */
struct tool_flag {
	const char *name;  /* "--per-kind" */
	const char *value; /* what --help calls its value; NULL: it takes none */
	const char *help;  /* one line */
};

struct tool_arguments {
	const struct tool_command *command;
	int argc;
	char **argv; /* argv[0] is the subcommand's name */
	int at;      /* of the next argument */
	bool plain;  /* "--" has come: what follows are words */
	int status;  /* after TOOL_STOP: what to return */
};

struct tool_command {
	const char *name;
	const char *synopsis;          /* what stands behind the name: "FILE" */
	const char *about;             /* one line */
	const char *more;              /* what --help says below the options; NULL: nothing */
	const struct tool_flag *flags; /* the last row has no name */
	/*
	 * Returns an exit status. Writes its result on standard output and one line on standard
	 * error for what is wrong.
	 */
	int (*run)(struct tool_arguments *arguments);
};

extern const struct tool_command tool_sessions, tool_summary, tool_stats, tool_providers,
	tool_fields, tool_dump, tool_check, tool_metrics, tool_backfill;

/* Of tool_next(), besides the rows of options. */
enum { TOOL_WORD = -1, TOOL_END = -2, TOOL_STOP = -3 };

/*
 * Steps to the next argument. Of an option: its row among the command's flags, and its value (NULL
 * when it takes none). TOOL_WORD: *value is something else. TOOL_END: there are no more.
 * TOOL_STOP: what is wrong was told, or the help that was asked for was printed.
 */
int tool_next(struct tool_arguments *arguments, const char **value);

/*
 * Takes a word as the recording of a command that reads one. False, and the arguments' status set
 * after a complaint, when there is one already.
 */
bool tool_take_file(struct tool_arguments *arguments, const char *word, const char **path);

/*
 * "4" or "8"; else prints a line that names command and value, and returns false.
 */
bool tool_pointer_size(const char *command, const char *value, uint8_t *pointer_size);

/* A number above 0; likewise. */
bool tool_count(const char *command, const char *flag, const char *value, uint64_t *count);

/* The index of value among words, the last of which is NULL; -1 after a complaint. */
int tool_choice(const char *command, const char *flag, const char *value, const char *const *words);

#define TOOL_POINTER_SIZE_FLAG                                             \
	{                                                                  \
		"--pointer-size", "4|8",                                   \
			"pointer size of classic payloads, where records " \
			"tell a wrong one"                                 \
	}

/* --schema: adds to the manifests; false after a complaint. */
bool tool_schema(const char *command, const char *path, struct given_manifests *manifests);

/* --builtin; likewise. */
bool tool_builtin(const char *command, struct given_manifests *manifests);

#define TOOL_SCHEMA_FLAG                                                               \
	{                                                                              \
		"--schema", "FILE|DIR",                                                \
			"an instrumentation manifest (.man, .xml) or a folder of them" \
	}

#define TOOL_BUILTIN_FLAG                                                            \
	{                                                                            \
		"--builtin", NULL, "use the manifests that the program brings along" \
	}

/* The text of --help. */
void tool_help(const struct tool_command *command, struct text *out);

/* ---- output (output.c) ---- */

/* Prints "etwtool COMMAND: SENTENCE" on standard error and returns status. */
int tool_complain(int status, const char *command, const char *format, ...) PRINTF_LIKE(3, 4);

/* Adds a name from outside so that no terminal obeys it: escaped as in JSON, without quotes. */
void text_add_shown(struct text *out, const char *name);

/*
 * Writes text to standard output and flushes; false when that fails or the text is incomplete, with
 * a line on standard error, but for a reader that has gone: it has seen enough.
 */
bool tool_write(const char *command, const struct text *text);

#endif
