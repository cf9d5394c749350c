/* SPDX-License-Identifier: MIT */
/*
 * What etwtool top reads from a page of metrics: the sums of each process, one for each column, and
 * what the header shows. The page is that of the exporter, whether a program of ours made it in
 * this process or another one sent it.
 */
#ifndef ETWTOOL_TOP_TOP_PAGE_H
#define ETWTOOL_TOP_TOP_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum top_unit { UNIT_BYTES, UNIT_COUNT, UNIT_SECONDS };

/* The columns, in the order in which they are shown. */
enum top_column {
	TOP_WRITTEN,
	TOP_READ,
	TOP_FILE_OPERATIONS,
	TOP_NETWORK,
	TOP_CPU,
	TOP_WAITS,
	TOP_DISK,
	TOP_FAULTS,
	TOP_EVENTS,
	TOP_COLUMNS
};

struct top_column_row {
	const char *title; /* at most 7 columns, so that a mark and a blank fit */
	char key;          /* that sorts by it */
	enum top_unit unit;
	const char *about;       /* for the help */
	const char *families[2]; /* whose samples are added; the second may be NULL */
};

extern const struct top_column_row top_columns[TOP_COLUMNS];

/* Sums over the samples of a page, each a counter unless it says otherwise. */
enum top_fact {
	FACT_RECORDS, /* delivered, of any outcome */
	FACT_EVENTS_LOST,
	FACT_BUFFERS_LOST, /* in real time and of log files */
	FACT_BAD_BUFFERS,
	FACT_BAD_RECORDS,
	FACT_UNDECODABLE,
	FACT_UNATTRIBUTED,
	FACT_SESSIONS_UP, /* a gauge */
	FACT_POSITION,    /* of a replay, seconds since 1970; a gauge */
	FACT_PROGRESS,    /* of a replay, from 0 to 1; a gauge */
	FACT_FINISHED,    /* 1: the replay has ended; a gauge */
	FACT_IS_EXPORTER, /* 1: the page is that of an exporter; a gauge */
	TOP_FACTS
};

enum { TOP_PROCESSES_MOST = 100000 };

struct top_process {
	char *name; /* owned; as the label has it, any UTF-8 */
	double values[TOP_COLUMNS];
};

/* Zero-initialise it. */
struct top_page {
	struct top_process *processes; /* owned */
	size_t count, room;
	struct map by_name;        /* hash of the name -> index */
	bool present[TOP_COLUMNS]; /* the page has a sample of the column */
	double facts[TOP_FACTS];
	bool has_fact[TOP_FACTS];
	bool full; /* further processes were left out: TOP_PROCESSES_MOST, or no memory */
};

/* Reads a page in the text format of Prometheus or OpenMetrics into an empty struct. Lines that it
 * does not need, or that make no sense, count as absent. */
void top_page_read(struct top_page *page, const char *text, size_t size);
void top_page_done(struct top_page *page); /* afterwards it is empty */

/* NULL: the page has no such process. */
const struct top_process *top_page_find(const struct top_page *page, const char *name);

/* The growth of a counter: a value that has fallen belongs to a counter that began again at 0. */
double top_growth(double before, double now);

#endif
