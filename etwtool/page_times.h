/* SPDX-License-Identifier: MIT */
/*
 * Decides when `etwtool backfill` writes an exposition: at each multiple of the step since 1970, as
 * if Prometheus scraped then. Pauses of the recording have none.
 */
#ifndef ETWTOOL_PAGE_TIMES_H
#define ETWTOOL_PAGE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Prometheus marks a series as stale after this time without a sample ("Staleness", "Querying
 * basics", prometheus.io). A longer pause in the recording has no expositions.
 */
enum { PAUSE_SECONDS = 300 };

/*
 * Times are in 100 ns since 1601 UTC, the step in 100 ns. Set step, above 0, and zero-initialise
 * the rest.
 */
struct page_times {
	int64_t step;
	int64_t next; /* time of the next exposition; 0 before the first record */
	/* Records whose time no exposition can have: before 1970 or after 9999. */
	uint64_t outside;
};

/*
 * Call it before a record is counted, with the record's time or ETW_RECORD_NO_TIME, until it
 * returns false. Each time it returns true, an exposition is due: *page is its time, which is later
 * than that of the previous one. Any time is allowed. A record before the last exposition makes
 * none due.
 */
bool page_times_due(struct page_times *times, int64_t time, int64_t *page);

#endif
