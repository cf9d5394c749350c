/* SPDX-License-Identifier: MIT */
/*
 * etwtool: looks at a recording or a configuration without running the exporter. Each command has a
 * file of its own, tool_NAME.c; what several of them need is declared here.
 */
#ifndef ETWTOOL_TOOL_H
#define ETWTOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/source.h>

#include "base/command_line.h"
#include "base/guid.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"

struct config;
struct config_switch;
struct etw_registered_providers;
struct registry;
struct etw_running_sessions;

enum tool_exit { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_BAD_USAGE = 2 };

/* ---- collectors that a command line switches (recording.c) ---- */

/* --[no-]collector.NAME. Zero-initialise it. */
struct collector_switches {
	struct config_switch *rows; /* owned, with their names */
	size_t count;
};

/* An option_read of OPTION_SWITCH: the argument "--collector.cpu" or "--no-collector.cpu". */
bool collector_switches_read(void *switches, const char *argument, struct etw_error *err);
void collector_switches_done(struct collector_switches *switches);

/* ---- commands and their arguments (main.c) ---- */

/* Options that several commands have; their values are in struct tool_arguments. */
enum tool_shared {
	TOOL_POINTER_SIZE = 1,
	TOOL_SCHEMA = 2,
	TOOL_BUILTIN = 4 | 8,   /* --builtin, --no-builtin */
	TOOL_TEXT_OR_JSON = 16, /* --format */
	TOOL_COLLECTORS = 32,   /* --[no-]collector.NAME */
	TOOL_FILE = 64,         /* no option: the first word is a recording and must be there */
};

enum { TOOL_WORDS_MOST = 64 };

/* What every command has read from its command line. */
struct tool_arguments {
	const struct tool_command *command;
	const char *words[TOOL_WORDS_MOST]; /* the first is the recording, in most commands */
	size_t word_count;
	uint8_t pointer_size; /* 0: as recorded */
	unsigned as_json;     /* 0: text, 1: JSON */
	bool builtin;         /* --builtin */
	bool no_builtin;      /* --no-builtin; it wins */
	bool help;
	struct collector_switches switches;        /* owned */
	struct etw_configured_manifests manifests; /* owned */
};

struct tool_command {
	const char *name;
	const char *synopsis; /* the words that it takes, for --help: "FILE" */
	const char *about;    /* one line */
	const char *more;     /* what --help says below the options; NULL: nothing */
	const struct command_option *options; /* its own; the last has no name. NULL: none */
	unsigned shared;                      /* of enum tool_shared */
	size_t words_most;                    /* words that it takes */
	enum progress_output output;          /* what it prints while it reads a recording */
	const char *too_many; /* the sentence about one more; NULL: recordings come one by one */
	/* The struct that the options are stored in; it begins with a struct tool_arguments. */
	size_t size;
	/*
	 * Gets that struct and returns an exit status. Writes its result on standard output and one
	 * line on standard error for what is wrong.
	 */
	int (*run)(struct tool_arguments *arguments);
	void (*done)(struct tool_arguments *arguments); /* frees what options made; NULL: nothing */
};

extern const struct tool_command tool_sessions, tool_summary, tool_stats, tool_providers,
	tool_fields, tool_dump, tool_check, tool_metrics, tool_backfill, tool_top, tool_diff,
	tool_doctor, tool_relog, tool_report, tool_record;

/* ---- output (output.c) ---- */

/* Prints "etwtool COMMAND: SENTENCE" on standard error and returns status. command may be NULL. */
int tool_complain(int status, const char *command, const char *format, ...) ETW_PRINTF_LIKE(3, 4);

/*
 * Writes text to standard output and flushes; false when that fails or the text is incomplete, with
 * a line on standard error, unless the reader has closed the pipe, which means that it has seen
 * enough.
 */
bool tool_write(const char *command, const struct etw_text *text);

/*
 * Whether a file may take the place of the path: of nothing, or of a file. A name that exists and
 * is something else, such as a device, must not become a file.
 */
bool tool_may_replace(const char *path, struct etw_error *err);

/*
 * Whether a command may write to the path: it has no file, or one that begins as those that the
 * command writes (*replaces). Else the error reads "PATH exists and is REFUSAL".
 */
bool tool_may_write(const char *path, const char *start, const char *refusal, bool *replaces,
		    struct etw_error *err);

/* Writes and frees text; returns an exit status. */
int tool_print(const char *command, struct etw_text *text);

/*
 * JSON for people. Members are written between the two calls into an object that is open. The end
 * adds it to out, with a newline and one blank a level before every member, as Python's
 * json.dumps(indent=1) does.
 */
struct tool_json {
	struct etw_text compact;
	struct json json;
};
struct json *tool_json_begin(struct tool_json *page);
void tool_json_end(struct tool_json *page, struct etw_text *out);

/* Adds a number and what it counts: "1 record", "2 records". */
void text_add_counted(struct etw_text *out, uint64_t number, const char *noun);

/* Adds the damage of a recording: "1 buffer (8192 bytes) and 2 records". */
void text_add_damage(struct etw_text *out, const struct etw_source_statistics *statistics);

/* Adds a cell of CSV (RFC 4180), in quotes if it needs them. */
void text_add_csv(struct etw_text *out, const char *text, size_t size);

/* Adds the page that --once would print of the registry. */
void text_add_exposition(struct etw_text *out, struct registry *registry);
/* The same as OpenMetrics, without _created. */
void text_add_openmetrics(struct etw_text *out, struct registry *registry);

/* ---- what Windows reports (tool_sessions.c) ---- */

/* names: of providers; those that it lacks show their GUID. */
void add_sessions(struct etw_text *out, const struct etw_running_sessions *sessions,
		  const struct etw_registered_providers *names, bool as_json);

/* Whether a text contains the word, in any case of letters. */
bool tool_has_word(const char *text, const char *word);

/* Sorts the providers and adds those whose name or GUID contains the word, in any case of letters.
 */
void add_installed(struct etw_text *out, struct etw_registered_providers *providers,
		   const char *word, bool as_json);

/*
 * Whether no session runs that has the name of one of the configuration: it would be taken from the
 * program that has it, most likely an exporter that runs as a service. advice: ends the sentence
 * about it.
 */
bool sessions_are_free(const struct config *config, const char *advice, struct etw_error *err);

/* etwtool providers --installed WORD. Returns an exit status. */
int tool_installed(const char *word, bool as_json);

#endif
