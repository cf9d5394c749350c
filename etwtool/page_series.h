/* SPDX-License-Identifier: MIT */
/* The series of one or two expositions side by side, for comparing recordings. */
#ifndef ETWTOOL_PAGE_SERIES_H
#define ETWTOOL_PAGE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "base/series.h"
#include "base/text.h"
#include "metrics/registry.h"

enum { SIDES = 2 };

/* A metric name. All its series have the same bucket bounds. */
struct series_family {
	char *name; /* owned */
	enum family_type type;
	double *bounds; /* upper bounds of a histogram's buckets, +Inf included; owned */
	size_t bucket_count, bucket_capacity;
};

/* A series on one exposition. */
struct series_side {
	bool present;
	double value; /* value of a counter or gauge */
	double sum, count;
	double *buckets; /* cumulative, in the order of the bounds; owned; NULL: no bucket */
};

struct series {
	size_t family; /* index of its family in the table */
	char *labels;  /* labels as in the exposition, without braces and `le`; owned */
	struct series_side sides[SIDES];
};

/* Zero-initialise it. */
struct series_table {
	struct series_family *families; /* owned */
	size_t family_count, family_capacity;
	struct series *rows; /* owned */
	size_t count, capacity;
	struct map by_key; /* hash of family and labels -> index + 1 */
};

/*
 * Adds the families of collectors from an exposition in the text format 0.0.4 that ends with a NUL.
 * Families about the program and its sessions are left out. side is below SIDES. Returns false
 * without memory.
 */
bool series_table_add(struct series_table *table, const char *page, unsigned side,
		      struct etw_error *err);
void series_table_done(struct series_table *table);

/*
 * Estimates a quantile from the buckets, by linear interpolation inside a bucket, as
 * histogram_quantile() of Prometheus does. A quantile above the last finite bound becomes that
 * bound. Returns NaN if there was no observation.
 */
double series_quantile(const struct series_family *family, const struct series_side *side,
		       double quantile);

/* ---- when a page is written ---- */

/*
 * Decides when `etwtool backfill` writes an exposition: at each multiple of the step since 1970, as
 * if Prometheus scraped then. Pauses of the recording have none.
 */

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
