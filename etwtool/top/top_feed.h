/* SPDX-License-Identifier: MIT */
/*
 * Where etwtool top gets its pages from: a recording that it replays, the sessions of a
 * configuration (Windows), or an exporter that runs elsewhere. A page is requested, and
 * is there some time later; the caller asks again until it is.
 */
#ifndef ETWTOOL_TOP_TOP_FEED_H
#define ETWTOOL_TOP_TOP_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "config/problems.h"
#include "etwtool/tool.h"

struct feed; /* opaque */

struct feed_options {
	struct tool_arguments *arguments; /* borrowed; words[0]: a recording or a URL; none: live */
	const char *config;               /* NULL: the built-in one; not of a URL */
	struct problems *problems;        /* of the configuration */
	/* of a URL, see exporter/http/fetch.h */
	const char *user, *password_path, *authorities_path;
};

/* Fails for a configuration or a recording that cannot be used, and for a URL that does not answer
 * with a page. os_stop_catch() comes first, because a live session must be stopped at the end. */
struct feed *feed_open(const struct feed_options *options, struct etw_error *err);
void feed_close(struct feed *feed); /* stops the replay or the sessions */

bool feed_is_replay(const struct feed *feed);

/*
 * Requests a page. Of a replay, the one after a further advance_100ns of recorded time (INT64_MAX:
 * at the end of the recording), which holds what was recorded before that moment and nothing after
 * it. Otherwise the page of now.
 */
void feed_request(struct feed *feed, int64_t advance_100ns);

struct feed_page {
	struct etw_text text; /* owned */
	/* The time of the page by the source's clock, 100 ns since 1601 UTC; ETW_RECORD_NO_TIME:
	 * not known. */
	int64_t time;
	/* The time since the page before by a clock that does not jump, in seconds; 0: not known */
	double seconds;
	bool ended; /* of a replay: no page with more follows */
};

enum feed_state { FEED_NOT_YET, FEED_PAGE, FEED_FAILED };

/* The page that was requested, if it is there: adds to an empty struct. FEED_FAILED: there is none
 * this time, and another one may be requested; of a replay or a session that has failed no other
 * comes. */
enum feed_state feed_take(struct feed *feed, struct feed_page *page, struct etw_error *err);

/* Of a replay that waits for the next request: the time of the next event; otherwise
 * ETW_RECORD_NO_TIME. */
int64_t feed_next_event(struct feed *feed);
/* How much of a recording has been read, in both passes, from 0 to 1. */
double feed_progress(struct feed *feed);

#endif
