/* SPDX-License-Identifier: MIT */
/*
 * Limits how often a message may be logged, so that a repeated one cannot fill the disk. It is a
 * part of the log in a header of its own, for tests. Any thread may call all functions except
 * log_limit_reset().
 */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOG_LINES_A_MINUTE = 30, /* lines with one message; about 10 MB a day at most */
	LOG_MESSAGES_MOST =
		64, /* number of different messages that are limited; further ones are not */
};

/*
 * Returns whether a line with this message may be written at the time now_ns (os_monotonic_ns()).
 * *before is set to the number of lines that were suppressed in a minute that has ended and have
 * not been reported yet. The message must stay valid. level is stored for the report.
 */
bool log_limit_pass(const char *message, int level, uint64_t now_ns, uint64_t *before);

struct log_suppressed {
	const char *message;
	int level; /* level of the last line */
	uint64_t lines;
};

/* Takes the suppressed lines of one message from a minute that has ended, with at_end also from the
 * present one. Returns false if none are left. */
bool log_limit_take(uint64_t now_ns, bool at_end, struct log_suppressed *taken);

/* Removes all messages. Call it while no other thread logs. */
void log_limit_reset(void);

#endif
