/* SPDX-License-Identifier: MIT */
/*
 * etwtool looks at a recording or a configuration without running the exporter. Each command has
 * its own file, tool_NAME.c; this header declares what several commands share.
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
#include "base/print.h"
#include "base/text.h"

struct config;
struct config_switch;
struct etw_registered_providers;
struct registry;
struct etw_running_sessions;
struct problems;

enum tool_exit { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_BAD_USAGE = 2 };

/* ---- collectors that a command line switches (recording.c) ---- */

/* --[no-]collector.NAME. Zero-initialise it. */
struct collector_switches {
	struct config_switch *rows; /* owned, with their names */
	size_t count;
};

/* An option_read of OPTION_SWITCH: reads the argument "--collector.cpu" or "--no-collector.cpu". */
bool collector_switches_read(void *switches, const char *argument, struct etw_error *err);
void collector_switches_done(struct collector_switches *switches);

/* ---- commands and their arguments (main.c) ---- */

/* Options that several commands have. Their values are stored in struct tool_arguments. */
enum tool_shared {
	TOOL_POINTER_SIZE = 1,
	TOOL_SCHEMA = 2,
	TOOL_BUILTIN = 4 | 8,   /* --builtin, --no-builtin */
	TOOL_TEXT_OR_JSON = 16, /* --format */
	TOOL_COLLECTORS = 32,   /* --[no-]collector.NAME */
	TOOL_NAMES = 64,        /* --config.file, only for the names of processes */
	/* not an option: the first word is required and names a recording */
	TOOL_FILE = 128,
};

enum { TOOL_WORDS_MOST = 64 };

/* The arguments that every command has read from its command line. */
struct tool_arguments {
	const struct tool_command *command;
	const char *words[TOOL_WORDS_MOST]; /* in most commands the first one names the recording */
	size_t word_count;
	uint8_t pointer_size; /* 0: as recorded */
	unsigned as_json;     /* 0: text, 1: JSON */
	bool builtin;         /* --builtin */
	bool no_builtin;      /* --no-builtin, which overrides --builtin */
	bool help;
	const char *names_config; /* configuration that names processes; NULL: the default one */
	struct collector_switches switches;        /* owned */
	struct etw_configured_manifests manifests; /* owned */
};

struct tool_command {
	const char *name;
	const char *synopsis; /* the words that --help shows for its arguments: "FILE" */
	const char *about;    /* one line */
	const char *more;     /* text that --help shows below the options; NULL: none */
	const struct command_option *options; /* own options; the last has no name. NULL: none */
	unsigned shared;                      /* set of enum tool_shared */
	size_t words_most;                    /* most words that it takes */
	enum progress_output output;          /* what it prints while it reads a recording */
	/* error when there is a word too many; NULL: the one about a second recording */
	const char *too_many;
	/*
	 * Size in bytes of the struct that stores the options; it begins with a struct
	 * tool_arguments.
	 */
	size_t size;
	/*
	 * Gets that struct and returns an exit status. Writes its result to standard output, and
	 * one line to standard error for an error.
	 */
	int (*run)(struct tool_arguments *arguments);
	/* frees what options allocated; may be NULL */
	void (*done)(struct tool_arguments *arguments);
};

extern const struct tool_command tool_sessions, tool_summary, tool_stats, tool_providers,
	tool_fields, tool_dump, tool_check, tool_metrics, tool_backfill, tool_top, tool_diff,
	tool_doctor, tool_relog, tool_report, tool_record;

/* ---- output (output.c) ---- */

/* Prints "etwtool COMMAND: SENTENCE" on standard error and returns status. command may be NULL. */
int tool_complain(int status, const char *command, const char *format, ...) ETW_PRINTF_LIKE(3, 4);

/* Complains about each problem that loading a configuration found, errors and warnings. */
void tool_show_problems(const char *command, const struct problems *problems);

/*
 * Writes text to standard output and flushes it. If that fails or the text is incomplete, complains
 * and returns false. There is no complaint if the reader has closed the pipe, because it has seen
 * enough.
 */
bool tool_write(const char *command, const struct etw_text *text);

/*
 * Returns whether a file may be created at the path: if nothing has that name, or a file, which is
 * replaced. A name of something else, such as a device, must not become a file.
 */
bool tool_may_replace(const char *path, struct etw_error *err);

/*
 * Returns whether a command may write to the path: if no file is there, or one that begins with
 * `start`, as the files of this command do; *replaces says which. Otherwise the error reads "PATH
 * exists and is REFUSAL".
 */
bool tool_may_write(const char *path, const char *start, const char *refusal, bool *replaces,
		    struct etw_error *err);

/* Writes a file that has its name when it is complete. Fails if memory ran out anywhere in the
 * program (base/memory.h), because the text may then be incomplete. The error begins with the path.
 */
bool tool_write_file(const char *path, const struct etw_text *text, struct etw_error *err);

/* Writes and frees text; returns an exit status. */
int tool_print(const char *command, struct etw_text *text);

/*
 * JSON for people. The caller writes members between the two calls; an object is open then.
 * tool_json_end() adds it to out with newlines and one space of indentation for each level, as
 * Python's json.dumps(indent=1) does.
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

/* Adds a CSV cell (RFC 4180), quoted if necessary. */
void text_add_csv(struct etw_text *out, const char *text, size_t size);

/* Adds the exposition of the registry that --once would print. */
void text_add_exposition(struct etw_text *out, struct registry *registry);
/* Adds the same as OpenMetrics. */
void text_add_openmetrics(struct etw_text *out, struct registry *registry);

/* ---- what Windows reports (tool_sessions.c) ---- */

/* names gives the names of providers; a provider that it lacks is shown by GUID. */
void add_sessions(struct etw_text *out, const struct etw_running_sessions *sessions,
		  const struct etw_registered_providers *names, bool as_json);

/* Returns whether the text contains the word, ignoring case. */
bool tool_has_word(const char *text, const char *word);

/* Sorts the providers and adds those whose name or GUID contains the word, ignoring case. */
void add_installed(struct etw_text *out, struct etw_registered_providers *providers,
		   const char *word, bool as_json);

/* Adds an end to the names of the sessions of a configuration, so that they run beside those of an
 * exporter. Only the NT Kernel Logger keeps its name. */
bool sessions_rename(struct config *config, const char *end, struct etw_error *err);

/*
 * Returns whether no running session has the name of a session of the configuration. Starting one
 * would take it from the program that owns it, most likely an exporter that runs as a service.
 * advice ends the error about that.
 */
bool sessions_are_free(const struct config *config, const char *advice, struct etw_error *err);

/* Runs `etwtool providers --installed WORD`. Returns an exit status. */
int tool_installed(const char *word, bool as_json);

#endif
