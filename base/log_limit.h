/* SPDX-License-Identifier: MIT */
/*
 * How often a message may be logged, so that one that repeats fills no disk. Part of base/log.h,
 * apart from it for its tests; any thread.
 */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOG_LINES_A_MINUTE = 30, /* with one message; about 10 MB a day at most */
	LOG_MESSAGES_MOST = 64,  /* that are limited; further ones are not */
};

/*
 * Whether a line with this message may be written at this time of os_monotonic_ns(). *before: how
 * many were suppressed in a minute that has ended, and have not been reported yet; 0: none. The
 * message must stay valid. level: kept for the report.
 */
bool log_limit_pass(const char *message, int level, uint64_t now_ns, uint64_t *before);

struct log_suppressed {
	const char *message;
	int level; /* of the last line */
	uint64_t lines;
};

/* Takes what was suppressed of one message in a minute that has ended; at_end: or in this one.
 * False when nothing is left. */
bool log_limit_take(uint64_t now_ns, bool at_end, struct log_suppressed *taken);

/* Forgets all messages. Call while no other thread logs. */
void log_limit_reset(void);

#endif
