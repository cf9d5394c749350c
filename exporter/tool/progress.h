/* SPDX-License-Identifier: MIT */
/*
 * How far a long run has come, on standard error, if a person watches a terminal.
 */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_AFTER_MS = 2000, PROGRESS_EVERY_MS = 250, PROGRESS_LINE_SIZE = 64 };

struct progress {
	const char *command;
	uint64_t start_ns;
	uint64_t next_ns; /* when to show something next */
	bool watched;     /* standard error is a terminal, and nothing else is printed on one */
	bool shown;
};

void progress_start(struct progress *progress, const char *command);

/* share: 0 to 1, of the whole run. */
void progress_show(struct progress *progress, double share);

/* Takes the line away again. */
void progress_end(struct progress *progress);

/*
 * What progress_show() prints at a time (os_monotonic_ns()): false for nothing, in the first two
 * seconds and between two changes.
 */
bool progress_line(struct progress *progress, double share, uint64_t now_ns,
		   char line[PROGRESS_LINE_SIZE]);

#endif
