/* SPDX-License-Identifier: MIT */
/*
 * Samples the counters of the exporter while etwtool report replays a recording. Each chart of the
 * report shows one counter over time, summed by one of its labels.
 */
#ifndef ETWTOOL_REPORT_REPORT_SERIES_H
#define ETWTOOL_REPORT_REPORT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "metrics/registry.h"

/* Returns the sum of two sample values, or 2^64 - 1 if it is greater. */
static inline uint64_t count_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* ---- steps ---- */

/* The most steps, of equal length, into which the time of a recording is divided. */
enum { REPORT_STEPS = 240 };

/* Zero-initialise it and set `guess`. Times are in 100 ns since 1601 UTC. */
struct report_steps {
	int64_t guess;       /* end of the recording according to its header; 0: unknown */
	int64_t step;        /* length of a step; 0: no record had a time */
	int64_t origin;      /* beginning of step 0 */
	unsigned current;    /* index of the present step */
	int64_t first, last; /* times of the earliest and latest record */
	uint64_t records;
	uint64_t outside; /* records with a time before 1970 or after 9999, or with none */
};

/* ---- charts ---- */

enum report_unit { REPORT_BYTES, REPORT_COUNT, REPORT_SECONDS /* in nanoseconds */ };

enum report_form {
	REPORT_STACK,   /* shows how fast each row grows, stacked */
	REPORT_BUCKETS, /* shows a histogram over time; rows are its buckets */
	REPORT_REMARK,  /* is no chart: says what makes the other numbers doubtful */
};

/* A row of the table in report_charts.c. */
struct report_chart {
	const char *section; /* an id of report_sections; NULL for a remark */
	const char *title;
	const char *sample;            /* name of the counter, as in the exposition */
	const char *label;             /* the label by which samples are summed */
	const char *only, *only_value; /* use only samples with this label value; NULL: all */
	enum report_unit unit;
	enum report_form form;
	/*
	 * For seconds: the name of one second per second, such as "CPUs"; NULL: 100 %. For buckets:
	 * what they count.
	 */
	const char *noun;
};

/* The number of rows of the table. */
enum { REPORT_CHARTS = 45 };
extern const struct report_chart *const report_charts;

/*
 * A row is gone when the registry has evicted all its samples. Beyond this number the smallest rows
 * that are gone are merged into the row "_other".
 */
enum { REPORT_GONE_MOST = 2048 };

struct report_row {
	uint64_t key; /* hash of the name */
	char *name;   /* label value as in the registry; owned */
	uint64_t total;
	/* sums of the row's samples at the last sampling, and at the present one */
	uint64_t seen, next;
	uint64_t *steps; /* total of the row at the end of each step; owned */
};

struct report_series {
	struct map by_name;      /* hash of the name -> index of the row */
	struct report_row *rows; /* owned; report_finish() sorts them by total, greatest first */
	size_t count, capacity;
	uint64_t total; /* sum of all rows; report_finish() sets this and `most` */
	uint64_t most;  /* greatest growth of all rows together in one step */
};

/* Zero-initialise it and set steps.guess. */
struct report_charted {
	struct report_steps steps;
	struct report_series series[REPORT_CHARTS];
	bool failed; /* no memory */
};

/*
 * Call it before a record is counted, with the record's time or ETW_RECORD_NO_TIME: samples the
 * registry whenever a step has ended.
 */
void report_sample(struct report_charted *charted, struct registry *registry, int64_t time);

/* Call it after the last record: takes the last sample, computes totals and sorts the rows. */
void report_finish(struct report_charted *charted, struct registry *registry);
void report_charted_done(struct report_charted *charted);

/* Returns how much a row grew in a step. */
static inline uint64_t report_growth(const struct report_row *row, unsigned step)
{
	return row->steps[step] - (step > 0 ? row->steps[step - 1] : 0);
}

#endif
