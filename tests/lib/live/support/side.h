/* SPDX-License-Identifier: MIT */
/*
 * The program around one exposition, live against tests/fake_etw or a replay, with every collector
 * on.
 *
 * For the thread of the test; what goes wrong fails it.
 */
#ifndef LIVE_SUPPORT_SIDE_H
#define LIVE_SUPPORT_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "tests/support/program.h"

/* A program with the last page that was taken of it. */
struct side {
	struct program program;
	struct runner *runner; /* the program's */
	struct etw_text page;  /* of the last take_page() */
};

/* Nothing runs yet; config is YAML. */
void open_side(struct side *side, const char *config);
/* Frees what runs no more. */
void close_side(struct side *side);

/* Starts the sessions, quick to look and to try again. */
void open_live(struct side *side);
/* open_side() and open_live(); waits until the session "etw_exporter" is consumed. */
void start_live(struct side *side, const char *config);
/*
 * Likewise, but without a watcher: no canary is written. Its time is not that of a recording that
 * is played, and it would stand out of order between its events.
 */
void open_live_unwatched(struct side *side);
/* The recording to its end, and the page behind it. */
void run_replay(struct side *side, const char *path, bool single_pass);

/* Forgets all that the fake knows; its flush timer does not run. Then as open_side(). */
void begin_live(struct side *side, const char *config);
/* Stops the sessions; their statistics remain. */
void stop_live(struct side *side);
/* Stops the sessions and frees everything; nothing of the fake is open then. */
void end_live(struct side *side);

void take_page(struct side *side);
/* The number behind this text, which starts with a line feed, on a page that is taken now. */
uint64_t value_of(struct side *side, const char *line);

#endif
