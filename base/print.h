/* SPDX-License-Identifier: MIT */
/*
 * Results on standard output, errors and progress on standard error. A program that could not write
 * its result must report that and fail; otherwise a user with a full disk would believe that the
 * truncated file is complete.
 */
#ifndef BASE_PRINT_H
#define BASE_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/*
 * Writes to standard output and flushes it. Returns false if that fails. err then has a sentence,
 * except when the reader has closed the pipe on purpose, which needs no message.
 */
bool print_bytes(const char *bytes, size_t size, struct etw_error *err);

/* Writes a text and frees it. It is also an error if memory ran out while the text was made. */
bool print_text(struct etw_text *text, struct etw_error *err);

/*
 * Writes one line to standard error, with one call. On Windows fprintf() writes byte by byte, and
 * then a console shows no characters outside ASCII.
 */
void print_failure(const char *format, ...) ETW_PRINTF_LIKE(1, 2);

/* ---- progress ---- */

/*
 * Shows the progress of a long command as a line on standard error, if that is a terminal.
 *
 * A program shows one line at a time, on the thread that runs the command. A log line removes it
 * until it is shown again.
 */

enum { PROGRESS_AFTER_MS = 1000, PROGRESS_EVERY_MS = 250, PROGRESS_LINE_SIZE = 64 };

/* When a command writes its result: at the end, or while it runs. */
enum progress_output { OUTPUT_AT_END, OUTPUT_STREAMS };

struct progress {
	char command[24];
	uint64_t start_ns;
	uint64_t next_ns; /* earliest time (os_monotonic_ns()) of the next output */
	unsigned passes;  /* passes over each recording: 2, unless the caller sets 1 */
	bool watched;     /* the line is shown: progress_is_watched() */
	/* These describe the recording that is being read. */
	uint64_t before;
	uint64_t read;
	bool second_pass;
};

/* Enables progress lines. A program calls it at its start. Users of the library write to the
 * terminal themselves, so it is off by default. */
void progress_allow(void);

/* Begins to show progress; before this call a zero-initialised progress shows nothing. command:
 * such as "stats", or NULL. */
void progress_start(struct progress *progress, const char *program, const char *command,
		    enum progress_output output);

/*
 * Shows how much of the recordings has been read. read: bytes of the present recording, in this
 * pass; size: all its bytes; before: bytes of the recordings that are finished; total: bytes of all
 * recordings. If `read` is lower than at the previous call, the second pass has begun.
 */
void progress_show(struct progress *progress, uint64_t read, uint64_t size, uint64_t before,
		   uint64_t total);

/* Shows the number of bytes read from a source of unknown size, such as a pipe. */
void progress_show_bytes(struct progress *progress, uint64_t bytes);

/* Removes the line; nothing is shown after that. */
void progress_end(struct progress *progress);

/* Removes the line that is shown, if any. Call it before anything else is printed on standard
 * error. */
void progress_clear(void);

/* ---- parts of the above, for tests ---- */

/*
 * Returns whether the line is shown: standard error must be a terminal. It is not shown if the
 * command writes to the terminal or into a pipe while it runs: output on the terminal would mix
 * with the line, and a pipe often leads to a pager on the same terminal.
 */
bool progress_is_watched(enum progress_output output, bool errors_to_terminal, bool output_to_file);

/* Returns the part of the whole run, from 0 to 1, that progress_show() shows. */
double progress_share(struct progress *progress, uint64_t read, uint64_t size, uint64_t before,
		      uint64_t total);

/*
 * Makes the line that progress_show() prints at the time now_ns (os_monotonic_ns()). Returns false
 * if nothing is printed: in the first second, and between two changes.
 */
bool progress_line(struct progress *progress, double share, uint64_t now_ns,
		   char line[PROGRESS_LINE_SIZE]);
/* As progress_line(), for progress_show_bytes(). */
bool progress_bytes_line(struct progress *progress, uint64_t bytes, uint64_t now_ns,
			 char line[PROGRESS_LINE_SIZE]);

#endif
