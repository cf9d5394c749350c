/* SPDX-License-Identifier: MIT */
/*
 * One OpenMetrics text of many pages, each of another time: what `promtool tsdb create-blocks-from
 * openmetrics` makes blocks of.
 *
 * Pages follow one another, so a family comes again and again; its HELP and TYPE stand where it
 * comes first. OpenMetrics asks for all samples of a family in one place, promtool does not, and a
 * text in that order would have to be held whole.
 *
 * Source: "OpenMetrics 1.0", prometheus.io; what promtool takes was tried with version 2.42.
 */
#ifndef TOOL_OPENMETRICS_H
#define TOOL_OPENMETRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "metrics/registry.h"

struct openmetrics {
	struct text *out;       /* borrowed: where lines are added */
	struct text target;     /* `job="etw",instance="a.etl"`, of every series */
	struct map families;    /* hash of a family's name: its HELP and TYPE are out */
	struct map series;      /* hash of a counter's name and labels: it is out */
	struct text line;       /* the beginning of one that came in two pieces */
	int64_t time, previous; /* of this page and the one before, or RECORD_NO_TIME */
	bool counter;           /* the lines that come now only grow */
	bool left_out;
};

/* job, instance: label values. False without memory. */
bool openmetrics_init(struct openmetrics *metrics, struct text *out, const char *job,
		      const char *instance);
void openmetrics_done(struct openmetrics *metrics);

/*
 * Adds all samples of the registry as of a time (100 ns since 1601 UTC, later than that of the page
 * before), and `up`. A counter that is new since the page before is 0 there: increase() misses what
 * a series begins with. What tells of this run and not of the recording's time is left out.
 */
void openmetrics_page(struct openmetrics *metrics, struct registry *registry, int64_t time);

/* The last line. */
void openmetrics_end(struct openmetrics *metrics);

#endif
