/* SPDX-License-Identifier: MIT */
/*
 * What etwtool report has found out about a recording, and the page that it makes of that.
 */
#ifndef ETWTOOL_REPORT_REPORT_H
#define ETWTOOL_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "base/text.h"
#include "etwtool/report/report_events.h"
#include "etwtool/report/report_series.h"
#include "exporter/rules/engine/dry_run.h"
#include "exporter/rules/rules.h"
#include "exporter/runner.h"

struct report {
	const char *name;                /* of the file, without its folder; borrowed */
	const struct etw_header *header; /* borrowed, as are the next */
	uint64_t size_bytes;             /* of the file */
	const char *clock_doubt;         /* NULL: none */
	struct registry *registry;
	const struct rule_set *rules;
	const struct etw_configured_manifests *manifests;
	const struct dry_run *dry_run;
	struct etw_source_statistics statistics; /* of the replay */
	struct report_charted charted;
	struct report_events events;
};

/* Every report begins with this text, and with the version of the program behind it. */
#define REPORT_MARK "<!DOCTYPE html>\n<!-- etwtool report "

/* Adds the page (report_page.c). */
void report_add_page(struct etw_text *html, const struct report *report);

/* ---- parts of the page ---- */

/* The rows of a chart that are drawn; those beyond them are one, and rows of a table. */
enum { REPORT_DRAWN = 8, REPORT_TABLE_ROWS = 15 };

/* The colours of the drawn rows, numbers from 0 below REPORT_COLOURS (report_colours.c): a name has
 * the same in every chart that has room for it. */
enum { REPORT_COLOURS = 12 };
struct report_colours {
	uint8_t rows[REPORT_CHARTS][REPORT_DRAWN];
};
void report_choose_colours(struct report_colours *colours, const struct report_charted *charted);

/* How many rows of a chart have a total; they are the first. Of buckets: all up to the last one
 * that has. */
size_t report_rows(const struct report_series *series);

/* Adds the data of all charts for the script, as JSON that may stand in a script element
 * (report_data.c). */
void report_add_data(struct etw_text *html, const struct report *report,
		     const struct report_colours *colours);

/* The first screen: what was recorded; what happened, and who was first in what
 * (report_glance.c). */
void report_add_facts(struct etw_text *html, const struct report *report);
void report_add_glance(struct etw_text *html, const struct report *report,
		       const struct report_colours *colours);

/* Adds the place of a chart, with the table of its numbers (report_tables.c). */
void report_add_chart(struct etw_text *html, const struct report *report,
		      const struct report_colours *colours, size_t chart);
/* Adds the table of the files with most bytes; sample: the counter of all. */
void report_add_files(struct etw_text *html, const struct report *report,
		      enum report_direction direction, const char *sample, const char *title);
/* The colour of a row, and the cells with the numbers of some rows together, up to the end of the
 * line. */
void report_add_swatch(struct etw_text *html, uint8_t colour);
void report_add_cells(struct etw_text *html, const struct report *report, size_t chart,
		      size_t first, size_t end);
/* The upper bound of a bucket; false: it has none. */
bool report_bound(const char *le, uint64_t *ns);

/* Adds the table of processes with their lifetimes (report_tree.c). */
void report_add_processes(struct etw_text *html, const struct report *report);
/* "0xC0000005 (access violation)", "1" */
void report_add_exit_status(struct etw_text *html, int32_t status);

/* Adds the losses of the recording and what its numbers lack for other reasons, the collectors that
 * it does not feed, and how to record what one of them needs (report_lacks.c). */
void report_add_losses(struct etw_text *html, const struct report *report);
void report_add_unfed(struct etw_text *html, const struct report *report);
void report_add_how(struct etw_text *html, const struct report *report, const char *collector);

/* ---- values (report_values.c) ---- */

/* "12,345" */
void report_add_number(struct etw_text *html, uint64_t number);
/* "12,345 events", with an s unless it is one */
void report_add_counted(struct etw_text *html, uint64_t number, const char *noun);
/* "12.3 MB", "12,345", "1.25 s": a total in a unit */
void report_add_value(struct etw_text *html, enum report_unit unit, uint64_t value);
/* "12.3 MB/s", "0.25 CPUs", "3 %": how fast a total of a chart grows, in so many 100 ns */
void report_add_rate(struct etw_text *html, const struct report_chart *chart, uint64_t value,
		     uint64_t time_100ns);
/* "1 min 12 s", "150 ms" */
void report_add_duration(struct etw_text *html, uint64_t time_100ns);
/* "07:00:12", with the date before it if the recording has more than one, and milliseconds behind
 * it if its steps are shorter than a second. Of no time "–". */
void report_add_clock(struct etw_text *html, const struct report *report, int64_t time);

#endif
