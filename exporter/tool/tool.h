/* SPDX-License-Identifier: MIT */
/*
 * etwtool: what one wants to know about a recording or a configuration without running the
 * exporter. One file a subcommand.
 */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum tool_exit { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_BAD_USAGE = 2 };

/*
 * A subcommand gets the arguments from its own name on (argv[0] is "summary") and returns an exit
 * status. It writes its result on standard output and one line on standard error for what is wrong.
 */
int tool_summary(int argc, char **argv);
int tool_dump(int argc, char **argv);
int tool_check(int argc, char **argv);

/*
 * Options, for subcommands. If argv[*at] is `name` ("--pointer-size"), written `--pointer-size 8`
 * or `--pointer-size=8`, steps *at to the last argument it takes, sets *value and returns true.
 * *value is NULL when the option stands last, without a value.
 */
bool tool_option(int argc, char **argv, int *at, const char *name, const char **value);

/*
 * "4" or "8"; else prints a line that names command and value, and returns false. NULL is a missing
 * value.
 */
bool tool_pointer_size(const char *command, const char *value, uint8_t *pointer_size);

/* Prints "etwtool COMMAND: SENTENCE" on standard error and returns status. */
int tool_complain(int status, const char *command, const char *format, ...) PRINTF_LIKE(3, 4);

/*
 * Writes text to standard output and flushes; false, and a line on standard error, when that fails
 * or the text is incomplete.
 */
bool tool_write(const char *command, const struct text *text);

#endif
