/* SPDX-License-Identifier: MIT */
/*
 * Reads command lines and writes --help from one table with a row for each option.
 *
 * An option is written `--name value` or `--name=value`. An argument that does not begin with a
 * dash is a word, and so is "-". After "--" every argument is a word.
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

/* What an option sets in the target, at the offset of its row. */
enum option_type {
	OPTION_SET,    /* bool; the option takes no value */
	OPTION_HELP,   /* bool; -h means the same; arguments after it are ignored */
	OPTION_TEXT,   /* const char *, borrowed from argv */
	OPTION_WORD,   /* enum or unsigned: `first` plus the index of the value in `words` */
	OPTION_DIGIT,  /* uint8_t: the value is one of `words`, each of which is a digit */
	OPTION_COUNT,  /* uint64_t above 0 */
	OPTION_READ,   /* read() converts the value */
	OPTION_SWITCH, /* --[no-]nameX: read() gets the whole argument */
};

/*
 * Reads a value into member, which is the target at the row's offset. Returns false if the value is
 * refused; if it leaves err unset, the error becomes "--name takes …".
 */
typedef bool option_read(void *member, const char *value, struct etw_error *err);

struct command_option {
	const char *name;  /* "--replay.file" */
	const char *value; /* name of the value in --help; NULL: the option takes no value */
	/* NULL: the option is accepted, but neither shown in --help nor suggested */
	const char *help;
	enum option_type type;
	size_t offset; /* bytes from the start of the target to the member */
	/* The accepted values of OPTION_WORD and OPTION_DIGIT, and of an OPTION_READ that has a
	 * list of them; NULL ends the list. */
	const char *const *words;
	unsigned first;    /* for OPTION_WORD: the number of the first word */
	const char *takes; /* for OPTION_READ: what the error says is accepted, such as "a number
			      from 0" */
	option_read *read; /* for OPTION_READ and OPTION_SWITCH */
	/* Set for an option that no longer exists: the second half of the error, which says what to
	 * do instead. */
	const char *gone;
};

struct command_line {
	const struct command_option *options; /* ends with a row without a name */
	/* Takes each word; NULL: words are refused with a sentence that ends in hint. */
	option_read *word;
	const char *hint;
};

/* Reads the arguments from argv[1] on into target. On failure err has one sentence about the first
 * mistake. */
bool command_line_read(const struct command_line *line, int argc, char **argv, void *target,
		       struct etw_error *err);

/*
 * Adds a line for each option: " --name", `between`, the name of its value, and the help. The help
 * begins at `column`, or one blank after a text that is longer.
 */
void command_line_help(struct etw_text *out, const struct command_option *options, char between,
		       size_t column);

/*
 * Adds a JSON array of the options in --help. Each option is an object with its name, its value
 * (null if it takes none), whether it is an OPTION_SWITCH, its words (null: any text) and its help.
 * Man pages and shell completions are generated from it (packaging/pages.py).
 */
void command_line_describe(struct json *json, const struct command_option *options);

#endif
