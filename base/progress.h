/* SPDX-License-Identifier: MIT */
/*
 * A line on standard error with the progress of a long command, for a person at the terminal.
 *
 * Programs show one at a time, on the thread that runs the command. A log line takes it away for a
 * moment.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_AFTER_MS = 1000, PROGRESS_EVERY_MS = 250, PROGRESS_LINE_SIZE = 64 };

/* When a command writes its result: at its end, or while it works. */
enum progress_output { OUTPUT_AT_END, OUTPUT_STREAMS };

struct progress {
	char command[24];
	uint64_t start_ns;
	uint64_t next_ns; /* when to show something next */
	unsigned passes;  /* over each recording: 2, unless the caller sets 1 */
	bool watched;     /* a person sees the line, and nothing else is printed into it */
	/* Of the recording that is read. */
	uint64_t before;
	uint64_t read;
	bool second_pass;
};

/* From now on progress is shown. A program calls it at its start; the library, whose users write to
 * the terminal themselves, does not. */
void progress_allow(void);

/* Zero-initialised, a progress shows nothing. command: "stats", or NULL. */
void progress_start(struct progress *progress, const char *program, const char *command,
		    enum progress_output output);

/*
 * Shows how far the reading of recordings is: of the present one, `read` of `size` bytes, in this
 * pass; of those that have ended, `before` bytes in all; of all together `total` bytes. Fewer bytes
 * read than at the call before mean that the second pass has begun.
 */
void progress_show(struct progress *progress, uint64_t read, uint64_t size, uint64_t before,
		   uint64_t total);

/* Shows that so many bytes have been read of a source whose size is not known, such as a pipe. */
void progress_show_bytes(struct progress *progress, uint64_t bytes);

/* Removes the line; nothing is shown after that. */
void progress_end(struct progress *progress);

/* Takes away the line that is shown, if any, before something else is printed on standard error. */
void progress_clear(void);

/* ---- parts of the above, for tests ---- */

/*
 * Whether the line is shown: standard error must be a terminal. What streams to the same terminal
 * would mix with the line, and what streams into a pipe often ends on it too, in a pager.
 */
bool progress_is_watched(enum progress_output output, bool errors_to_terminal, bool output_to_file);

/* The share of the whole run, from 0 to 1, that progress_show() shows. */
double progress_share(struct progress *progress, uint64_t read, uint64_t size, uint64_t before,
		      uint64_t total);

/*
 * What progress_show() prints at a time (os_monotonic_ns()): false for nothing, in the first
 * second and between two changes.
 */
bool progress_line(struct progress *progress, double share, uint64_t now_ns,
		   char line[PROGRESS_LINE_SIZE]);
/* The same for progress_show_bytes(). */
bool progress_bytes_line(struct progress *progress, uint64_t bytes, uint64_t now_ns,
			 char line[PROGRESS_LINE_SIZE]);

#endif
