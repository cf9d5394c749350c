/* SPDX-License-Identifier: MIT */
/*
 * When `etwtool backfill` writes a page: at each multiple of the step since 1970, as a Prometheus
 * would have scraped, and not where nothing was recorded.
 */
#ifndef ETWTOOL_PAGE_TIMES_H
#define ETWTOOL_PAGE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * After so long without a sample Prometheus marks a series as stale ("Staleness",
 * "Querying basics", prometheus.io). A pause in the recording that is longer gets no pages.
 */
enum { PAUSE_SECONDS = 300 };

/* Times are in 100 ns since 1601 UTC. Set step, above 0, and zero-initialise the rest. */
struct page_times {
	int64_t step;
	int64_t next;     /* of the next page; 0 before the first record */
	uint64_t outside; /* records with a time that no page can have: before 1970, after 9999 */
};

/*
 * Whether a page is due before the record with this time (or ETW_RECORD_NO_TIME) is counted; then
 * sets *page to its time, which is later than that of the page before. Call it until it returns
 * false. Any time is allowed; a record that is earlier than the last page makes no page due.
 */
bool page_times_due(struct page_times *times, int64_t time, int64_t *page);

#endif
