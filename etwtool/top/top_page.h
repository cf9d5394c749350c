/* SPDX-License-Identifier: MIT */
/*
 * Reads a page of metrics for etwtool top: the sums for each process, one for each column, and the
 * facts in the header. The page comes from an exporter, in this process or elsewhere.
 */
#ifndef ETWTOOL_TOP_TOP_PAGE_H
#define ETWTOOL_TOP_TOP_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum top_unit { UNIT_BYTES, UNIT_COUNT, UNIT_SECONDS };

/* The columns, in the order of display. */
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
	const char *title; /* at most 7 characters, so that a mark and a blank fit */
	char key;          /* the key that sorts by it */
	enum top_unit unit;
	const char *about;       /* explanation in the help */
	const char *families[2]; /* families whose samples are added; the second may be NULL */
};

extern const struct top_column_row top_columns[TOP_COLUMNS];

/* Sums over the samples of a page. The samples are counters unless the comment says "gauge". */
enum top_fact {
	FACT_RECORDS, /* records delivered, with any outcome */
	FACT_EVENTS_LOST,
	FACT_BUFFERS_LOST, /* lost in real time and for log files */
	FACT_BAD_BUFFERS,
	FACT_BAD_RECORDS,
	FACT_UNDECODABLE,
	FACT_UNATTRIBUTED,
	FACT_SESSIONS_UP, /* a gauge */
	FACT_POSITION,    /* position of a replay in seconds since 1970; a gauge */
	FACT_PROGRESS,    /* progress of a replay from 0 to 1; a gauge */
	FACT_FINISHED,    /* 1: the replay has ended; a gauge */
	FACT_IS_EXPORTER, /* 1: an exporter wrote the page; a gauge */
	TOP_FACTS
};

enum { TOP_PROCESSES_MOST = 100000 };

struct top_process {
	char *name; /* label value, which may be any UTF-8; owned */
	double values[TOP_COLUMNS];
};

/* Zero-initialise it. */
struct top_page {
	struct top_process *processes; /* owned */
	size_t count, room;
	struct map by_name;        /* hash of the name -> index */
	bool present[TOP_COLUMNS]; /* the page has a sample for the column */
	double facts[TOP_FACTS];
	bool has_fact[TOP_FACTS];
	bool full; /* processes were left out: more than TOP_PROCESSES_MOST, or no memory */
};

/*
 * Reads a page in the text format of Prometheus or OpenMetrics into a zero-initialised struct.
 * Lines that it does not need or understand are skipped.
 */
void top_page_read(struct top_page *page, const char *text, size_t size);
void top_page_done(struct top_page *page); /* frees the memory; the struct is empty then */

/* Returns NULL if the page has no such process. */
const struct top_process *top_page_find(const struct top_page *page, const char *name);

/* Returns the growth of a counter. If the value has fallen, the counter began again at 0. */
double top_growth(double before, double now);

#endif
