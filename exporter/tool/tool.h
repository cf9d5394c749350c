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
#include "decode/manifest/load.h"

enum tool_exit { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_BAD_USAGE = 2 };

/* ---- subcommands and their arguments (arguments.c) ---- */

/* An option, written `--name value` or `--name=value` anywhere behind the subcommand. */
struct tool_flag {
	const char *name;  /* "--per-kind" */
	const char *value; /* what --help calls its value; NULL: it takes none */
	const char *help;  /* one line */
};

/* Options that several commands have: tool_next() reads them itself. */
enum tool_shared {
	TOOL_POINTER_SIZE = 1,
	TOOL_SCHEMA = 2, /* repeatable: an instrumentation manifest, or a folder of them */
	TOOL_BUILTIN = 4,
	TOOL_TEXT_OR_JSON = 8, /* --format */
	TOOL_FILE = 16,        /* no option: a word is the recording, of which there is one */
};

struct tool_arguments {
	const struct tool_command *command;
	int argc;
	char **argv; /* argv[0] is the subcommand's name */
	int at;      /* of the next argument */
	bool plain;  /* "--" has come: what follows are words */
	int status;  /* after TOOL_STOP: what to return */
	/* What the shared ones said. */
	const char *path;     /* NULL: no recording */
	uint8_t pointer_size; /* 0: as recorded */
	bool as_json;
	struct configured_manifests manifests; /* owned; lives until run() has returned */
};

struct tool_command {
	const char *name;
	const char *synopsis;          /* what stands behind the name: "FILE" */
	const char *about;             /* one line */
	const char *more;              /* what --help says below the options; NULL: nothing */
	const struct tool_flag *flags; /* its own; the last row has no name. NULL: none */
	unsigned shared;               /* of enum tool_shared */
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
 * Steps to the next argument that is none of the shared ones. Of an option: its row among the
 * command's flags, and its value (NULL when it takes none). TOOL_WORD: *value is something else.
 * TOOL_END: there are no more. TOOL_STOP: what is wrong was told, or the help that was asked for
 * was printed.
 */
int tool_next(struct tool_arguments *arguments, const char **value);

/* A number above 0; else prints a line that names command and value, and returns false. */
bool tool_count(const char *command, const char *flag, const char *value, uint64_t *count);

/* The index of value among words, the last of which is NULL; -1 after a complaint. */
int tool_choice(const char *command, const char *flag, const char *value, const char *const *words);

/* What counting knows besides: the built-in manifests; false after a complaint. */
bool tool_add_builtin(struct tool_arguments *arguments);

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
