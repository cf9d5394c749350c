/* SPDX-License-Identifier: MIT */
/*
 * What etwtool report has found out about a recording, and the three forms in which it writes that:
 * a JSON document, a page that draws the document, and Markdown.
 */
#ifndef ETWTOOL_REPORT_REPORT_H
#define ETWTOOL_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "base/json.h"
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

/* ---- the three forms ---- */

/* Every report begins with the text of its form. */
#define REPORT_HTML_MARK     "<!DOCTYPE html>\n<!-- etwtool report "
#define REPORT_JSON_MARK     "{\"etwtool_report\":"
#define REPORT_MARKDOWN_MARK "# etwtool report: "

/* Adds the document (report_json.c; docs/report.md describes it), in one line. with_steps: the
 * values of the charts over time, which are most of it. */
void report_add_json(struct etw_text *out, const struct report *report, bool with_steps);
/* Adds the page (report_page.c). */
void report_add_page(struct etw_text *html, const struct report *report);
/* Adds the Markdown (report_markdown.c). */
void report_add_markdown(struct etw_text *out, const struct report *report);

/* ---- findings (report_findings.c) ---- */

enum report_severity { REPORT_GOOD, REPORT_NOTE, REPORT_PROBLEM };

struct report_finding {
	const char *type; /* a word for programs */
	enum report_severity severity;
	bool about_losses;                /* or about what happened */
	const struct report_chart *chart; /* that shows it; NULL: none does */
	const char *text;                 /* a sentence */
	size_t name_size;                 /* it begins with a name of so many bytes */
};

typedef void report_on_finding(void *context, const struct report_finding *finding);

/* Calls back for what a reader should know first, most urgent first: losses and doubts, then what
 * happened. False without memory. */
bool report_find(const struct report *report, report_on_finding *on_finding, void *context);

/* Whether the recording feeds a collector. */
bool report_is_fed(const struct report *report, const char *collector);

/* ---- parts of the document ---- */

/* The rows of a chart that have names of their own; those beyond them are one. */
enum { REPORT_ROWS = 14 };

/* How many rows of a chart have a total; they are the first. Of buckets: all up to the last one
 * that has. */
size_t report_rows(const struct report_series *series);
/* How many of these have names of their own. */
size_t report_named_rows(const struct report_chart *chart, const struct report_series *series);

/* The sum of the totals of some rows. */
uint64_t report_total(const struct report_series *series, size_t first, size_t end);
/* The step in which rows together grew most, and by how much; the first of several. */
uint64_t report_peak(const struct report *report, const struct report_series *series, size_t first,
		     size_t end, unsigned *step);
/* The time over which a mean is taken: that of the recording, but at least a step, or the mean
 * would be above the peak. */
uint64_t report_mean_time(const struct report_steps *steps);

/* What the first rows of charts were first in. */
struct report_first {
	const char *sample, *what;
	const char *unless; /* a sample that says it better, if there is one */
};
enum { REPORT_FIRSTS = 17 };
extern const struct report_first *const report_firsts;
/* The chart of it; REPORT_CHARTS: nothing to show. */
size_t report_first_chart(const struct report *report, const struct report_first *first);

/* A section of the page. */
struct report_section {
	const char *id, *title, *note; /* note NULL: none */
	const char *collector;         /* that counts what it is about; NULL: any does */
};
enum { REPORT_SECTIONS = 9 };
extern const struct report_section *const report_sections;
bool report_section_is_empty(const struct report *report, const struct report_section *section);

/* Adds the processes as members of the open object, each below the one that started it
 * (report_tree.c). */
void report_add_processes(struct json *json, const struct report_events *events);
/* "0xC0000005 (access violation)", "1" */
void report_add_exit_status(struct etw_text *out, int32_t status);

/* ---- values (report_values.c) ---- */

/* "12,345" */
void report_add_number(struct etw_text *out, uint64_t number);
/* "12,345 events", with an s unless it is one */
void report_add_counted(struct etw_text *out, uint64_t number, const char *noun);
/* "12.3 MB", "12,345", "1.25 s": a total in a unit */
void report_add_value(struct etw_text *out, enum report_unit unit, uint64_t value);
/* "55 %", "< 0.1 %" */
void report_add_share(struct etw_text *out, uint64_t part, uint64_t whole);
/* "12.3 MB/s", "0.25 CPUs", "3 %": how fast a total of a chart grows, in so many 100 ns */
void report_add_rate(struct etw_text *out, const struct report_chart *chart, uint64_t value,
		     uint64_t time_100ns);
/* "1 min 12 s", "150 ms" */
void report_add_duration(struct etw_text *out, uint64_t time_100ns);
/* "07:00:12", with the date before it if the recording has more than one, and milliseconds behind
 * it if its steps are shorter than a second. Of no time "–". */
void report_add_clock(struct etw_text *out, const struct report *report, int64_t time);
/* The upper bound of a bucket; false: it has none. */
bool report_bound(const char *le, uint64_t *ns);

#endif
