/* SPDX-License-Identifier: MIT */
/*
 * Command lines by table: one row per option, from which it is read and --help is written.
 *
 * An option is written `--name value` or `--name=value`. What does not begin with a dash is a word,
 * and so is "-". Behind "--" everything is a word.
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
	OPTION_HELP,   /* bool; also written -h; nothing behind it is read */
	OPTION_TEXT,   /* const char *, borrowed from argv */
	OPTION_WORD,   /* enum or unsigned: first + the index of the value among words */
	OPTION_DIGIT,  /* uint8_t: the value, which is one of words, each a digit */
	OPTION_COUNT,  /* uint64_t above 0 */
	OPTION_READ,   /* what read() makes of the value */
	OPTION_SWITCH, /* --[no-]nameX: read() gets the whole argument */
};

/*
 * Reads a value into member, the target at the row's offset. False when the value is refused; an
 * error that is left unset then becomes "--name takes …".
 */
typedef bool option_read(void *member, const char *value, struct etw_error *err);

struct command_option {
	const char *name;  /* "--replay.file" */
	const char *value; /* what --help calls the value; NULL: the option takes none */
	const char *help;  /* NULL: read, but neither shown in --help nor suggested */
	enum option_type type;
	size_t offset; /* of the member in the target */
	/* Of OPTION_WORD and OPTION_DIGIT, and of an OPTION_READ whose good values are these; the
	 * last is NULL. */
	const char *const *words;
	unsigned first;    /* of OPTION_WORD: the number of the first word */
	const char *takes; /* of OPTION_READ: what a good value is, "a number from 0" */
	option_read *read; /* of OPTION_READ and OPTION_SWITCH */
	/* An option that no longer exists: the second half of the error, which says what to do now.
	 */
	const char *gone;
};

struct command_line {
	const struct command_option *options; /* the last has no name */
	/* What is done with a word; NULL: words are refused, with a sentence that ends in hint. */
	option_read *word;
	const char *hint;
};

/* Reads argv[1] and what follows into target. One sentence in err names what is wrong. */
bool command_line_read(const struct command_line *line, int argc, char **argv, void *target,
		       struct etw_error *err);

/*
 * Adds a line for each option: "  --name", `between`, what its value is called, and the help, which
 * begins at `column` or one blank behind.
 */
void command_line_help(struct etw_text *out, const struct command_option *options, char between,
		       size_t column);

/*
 * Adds a JSON array of what --help shows: an object for each option with its name, its value (null:
 * it takes none), whether it is an OPTION_SWITCH, its words (null: any text) and its help. Man
 * pages and shell completions are written from it (packaging/pages.py).
 */
void command_line_describe(struct json *json, const struct command_option *options);

#endif
