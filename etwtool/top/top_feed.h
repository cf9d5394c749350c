/* SPDX-License-Identifier: MIT */
/*
 * Where etwtool top gets its pages from: a recording that it replays, the sessions of a
 * configuration (Windows), or an exporter that runs elsewhere. The caller requests a page and then
 * polls until it is there.
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
	/* borrowed; words[0] is a recording or a URL; without words: live */
	struct tool_arguments *arguments;
	const char *config;        /* NULL: the built-in one; unused for a URL */
	struct problems *problems; /* problems that loading the configuration finds */
	/* Options for a URL, see exporter/http/fetch.h. */
	const char *user, *password_path, *authorities_path;
};

/*
 * Fails if the configuration or recording cannot be used, or if the URL does not answer with a
 * page. Call os_stop_catch() first, because live sessions must be stopped at the end.
 */
struct feed *feed_open(const struct feed_options *options, struct etw_error *err);
void feed_close(struct feed *feed); /* stops the replay or the sessions */

bool feed_is_replay(const struct feed *feed);

/*
 * Requests a page. For a replay it is the page after another advance_100ns of recorded time
 * (INT64_MAX: at the end of the recording), which has everything recorded before that moment and
 * nothing after it. Otherwise it is the current page.
 */
void feed_request(struct feed *feed, int64_t advance_100ns);

struct feed_page {
	struct etw_text text; /* owned */
	/*
	 * Time of the page by the source's clock, in 100 ns since 1601 UTC; ETW_RECORD_NO_TIME:
	 * unknown.
	 */
	int64_t time;
	/* Seconds since the previous page, of recorded time for a replay, otherwise by a monotonic
	 * clock; 0: unknown. */
	double seconds;
	bool ended; /* the replay has ended, so later pages have nothing new */
};

enum feed_state { FEED_NOT_YET, FEED_PAGE, FEED_FAILED };

/*
 * Gets the requested page into a zero-initialised struct, if it is there. After FEED_FAILED the
 * next page may be requested; but a replay or session that has failed delivers none.
 */
enum feed_state feed_take(struct feed *feed, struct feed_page *page, struct etw_error *err);

/*
 * Returns the time of the next event of a replay that waits for a request; otherwise
 * ETW_RECORD_NO_TIME.
 */
int64_t feed_next_event(struct feed *feed);
/* Returns how much of the recording is read, in both passes together, from 0 to 1. */
double feed_progress(struct feed *feed);

#endif
