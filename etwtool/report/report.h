/* SPDX-License-Identifier: MIT */
/*
 * The results of etwtool report about a recording, and the three formats in which it writes them: a
 * JSON document, an HTML page that draws the document, and Markdown.
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
	const char *name;                /* file name without folder; borrowed */
	const struct etw_header *header; /* borrowed, like all pointers below */
	uint64_t size_bytes;             /* size of the file */
	const char *clock_doubt;         /* NULL: none */
	struct registry *registry;
	const struct rule_set *rules;
	const struct etw_configured_manifests *manifests;
	const struct dry_run *dry_run;
	struct etw_source_statistics statistics; /* what the replay counted */
	struct report_charted charted;
	struct report_events events;
};

/* ---- the three forms ---- */

/* Every report begins with the mark of its format. */
#define REPORT_HTML_MARK     "<!DOCTYPE html>\n<!-- etwtool report "
#define REPORT_JSON_MARK     "{\"etwtool_report\":"
#define REPORT_MARKDOWN_MARK "# etwtool report: "

/*
 * Adds the document as one line (report_json.c; docs/report.md describes it). with_steps includes
 * the values of the charts over time, which are most of the document.
 */
void report_add_json(struct etw_text *out, const struct report *report, bool with_steps);
/* Adds the HTML page (report_page.c). */
void report_add_page(struct etw_text *html, const struct report *report);
/* Adds the Markdown text (report_markdown.c). */
void report_add_markdown(struct etw_text *out, const struct report *report);

/* ---- findings (report_findings.c) ---- */

enum report_severity { REPORT_GOOD, REPORT_NOTE, REPORT_PROBLEM };

struct report_finding {
	const char *type; /* name for programs, one word */
	enum report_severity severity;
	bool about_losses;                /* about losses and doubts; false: about what happened */
	const struct report_chart *chart; /* the chart that shows it; NULL: none */
	const char *text;                 /* one sentence */
	/* length in bytes of the name at the start of text; 0: none */
	size_t name_size;
};

typedef void report_on_finding(void *context, const struct report_finding *finding);

/*
 * Calls back for each finding, most urgent first: losses and doubts, then what happened. Returns
 * false without memory.
 */
bool report_find(const struct report *report, report_on_finding *on_finding, void *context);

/* Returns whether the recording feeds the collector. */
bool report_is_fed(const struct report *report, const char *collector);

/* ---- parts of the document ---- */

/* Number of rows of a chart that are named; all further rows are shown as one. */
enum { REPORT_ROWS = 14 };

/*
 * Returns how many rows of a chart have a total; they come first. For buckets this counts all rows
 * up to the last one with a total.
 */
size_t report_rows(const struct report_series *series);
/* Returns how many of these rows are named. */
size_t report_named_rows(const struct report_chart *chart, const struct report_series *series);

/* Returns the sum of the totals of the rows from first to end, which is excluded. */
uint64_t report_total(const struct report_series *series, size_t first, size_t end);
/*
 * Returns the greatest growth of the rows together in one step, and sets *step to the first step
 * that had it.
 */
uint64_t report_peak(const struct report *report, const struct report_series *series, size_t first,
		     size_t end, unsigned *step);
/*
 * Returns the time, in 100 ns, over which means are taken: the duration of the recording, but at
 * least one step, because otherwise the mean could exceed the peak.
 */
uint64_t report_mean_time(const struct report_steps *steps);

/* A line about the first row of a chart, such as "CPU time". */
struct report_first {
	const char *sample, *what;
	const char *unless; /* the line is left out if this sample has a chart; may be NULL */
};
enum { REPORT_FIRSTS = 17 };
extern const struct report_first *const report_firsts;
/* Returns the chart of the line; REPORT_CHARTS: nothing to show. */
size_t report_first_chart(const struct report *report, const struct report_first *first);

/* A section of the page. */
struct report_section {
	const char *id, *title, *note; /* note NULL: none */
	const char *collector;         /* the collector that feeds the section; NULL: any */
};
enum { REPORT_SECTIONS = 9 };
extern const struct report_section *const report_sections;
bool report_section_is_empty(const struct report *report, const struct report_section *section);

/* Adds the processes as members of the open object, each below its parent (report_tree.c). */
void report_add_processes(struct json *json, const struct report_events *events);
/* Adds an exit status: "0xC0000005 (access violation)", "1". */
void report_add_exit_status(struct etw_text *out, int32_t status);

/* ---- values (report_values.c) ---- */

/* Adds "12,345". */
void report_add_number(struct etw_text *out, uint64_t number);
/* Adds "12,345 events", without the s for 1. */
void report_add_counted(struct etw_text *out, uint64_t number, const char *noun);
/* Adds a total in a unit: "12.3 MB", "12,345", "1.25 s". */
void report_add_value(struct etw_text *out, enum report_unit unit, uint64_t value);
/* Adds a share: "55 %", "< 0.1 %". */
void report_add_share(struct etw_text *out, uint64_t part, uint64_t whole);
/* Adds the growth of a total of a chart per time: "12.3 MB/s", "0.25 CPUs", "3 %". */
void report_add_rate(struct etw_text *out, const struct report_chart *chart, uint64_t value,
		     uint64_t time_100ns);
/* Adds a duration: "1 min 12 s", "150 ms". */
void report_add_duration(struct etw_text *out, uint64_t time_100ns);
/*
 * Adds the time of day: "07:00:12". The date comes first if the recording has more than one, and
 * milliseconds follow if its steps are shorter than a second. Adds "–" for no time.
 */
void report_add_clock(struct etw_text *out, const struct report *report, int64_t time);
/* Parses the upper bound of a bucket, in nanoseconds. Returns false if the bucket has none. */
bool report_bound(const char *le, uint64_t *ns);

#endif
