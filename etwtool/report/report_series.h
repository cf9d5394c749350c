/* SPDX-License-Identifier: MIT */
/*
 * What etwtool report shows over time: the counters of the exporter, sampled while a recording is
 * replayed. Each chart of the report is one counter, summed by one of its labels.
 */
#ifndef ETWTOOL_REPORT_REPORT_SERIES_H
#define ETWTOOL_REPORT_REPORT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "metrics/registry.h"

/* The sum of two values of a page, at most 2^64 - 1. */
static inline uint64_t count_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* ---- steps ---- */

/* The time of a recording is divided into so many steps of one length, or fewer. */
enum { REPORT_STEPS = 240 };

/* Zero-initialise it and set `guess`. Times are in 100 ns since 1601 UTC. */
struct report_steps {
	int64_t guess;       /* when the recording ends, by its header; 0: not known */
	int64_t step;        /* 0: there was no record with a time */
	int64_t origin;      /* the beginning of step 0 */
	unsigned current;    /* the step that is under way, from 0 */
	int64_t first, last; /* of the records that were delivered */
	uint64_t records;
	uint64_t outside; /* of these: with a time before 1970 or after 9999, or with none */
};

/* ---- charts ---- */

enum report_unit { REPORT_BYTES, REPORT_COUNT, REPORT_SECONDS /* in nanoseconds */ };

enum report_form {
	REPORT_STACK,   /* how fast each row grows, one upon the other */
	REPORT_BUCKETS, /* a histogram over time; the rows are its buckets */
	REPORT_REMARK,  /* no chart: what makes the numbers of the others doubtful */
};

/* A row of the table in report_charts.c. */
struct report_chart {
	const char *section; /* an id of report_sections; NULL for a remark */
	const char *title;
	const char *sample;            /* name of the counter, as a scrape shows it */
	const char *label;             /* by which it is summed */
	const char *only, *only_value; /* samples with this label value alone; NULL: all */
	enum report_unit unit;
	enum report_form form;
	/* Of seconds: what one second in each second is, such as "CPUs"; NULL: 100 %. Of buckets:
	 * what they count. */
	const char *noun;
};

/* How many rows the table has. */
enum { REPORT_CHARTS = 45 };
extern const struct report_chart *const report_charts;

/* How many rows a chart keeps whose samples are gone, given back by the registry; those with least
 * are one row, "_other", beyond that. */
enum { REPORT_GONE_MOST = 2048 };

struct report_row {
	uint64_t key; /* hash of the name */
	char *name;   /* value of the label, as in the registry; owned */
	uint64_t total;
	uint64_t seen, next; /* the sum of its samples at the last visit, and at this one */
	uint64_t *steps;     /* total at the end of each step; owned */
};

struct report_series {
	struct map by_name;      /* hash of the name -> index of the row */
	struct report_row *rows; /* owned; report_finish() sorts them, greatest total first */
	size_t count, capacity;
	uint64_t total; /* of all rows; set by report_finish(), as is the next */
	uint64_t most;  /* the greatest growth of all rows together in one step */
};

/* Zero-initialise it and set steps.guess. */
struct report_charted {
	struct report_steps steps;
	struct report_series series[REPORT_CHARTS];
	bool failed; /* no memory */
};

/*
 * Before the record with this time is counted (or ETW_RECORD_NO_TIME): samples the registry
 * whenever a step has ended.
 */
void report_sample(struct report_charted *charted, struct registry *registry, int64_t time);

/* After the last record: the last sample, totals and order. */
void report_finish(struct report_charted *charted, struct registry *registry);
void report_charted_done(struct report_charted *charted);

/* How much a row grew in a step. */
static inline uint64_t report_growth(const struct report_row *row, unsigned step)
{
	return row->steps[step] - (step > 0 ? row->steps[step - 1] : 0);
}

#endif
