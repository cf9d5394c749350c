/* SPDX-License-Identifier: MIT */
/*
 * The tables of the page of etwtool report: one below each chart, with its numbers, and those of
 * the files with most bytes.
 *
 * A chart has as many rows as there are processes; a table has REPORT_TABLE_ROWS at most, the last
 * of which stands for all others. The first REPORT_DRAWN of them are those that the chart draws, in
 * the colours that report_colours.c has chosen. The cells of a row are its total and share, the
 * step in which it grew most, and its mean over the recording: numbers that the script finds again
 * in the data block. A row's number stands in data-row, so that the script can make a button of its
 * name.
 */
#include <string.h>

#include <etw/record.h>

#include "base/html.h"
#include "etwtool/report/report.h"

enum { NO_COLOUR = REPORT_COLOURS };

/* ---- cells ---- */

void report_add_swatch(struct etw_text *html, uint8_t colour)
{
	text_add_string(html, "<svg class=\"swatch\" aria-hidden=\"true\" viewBox=\"0 0 14 14\">"
			      "<rect class=\"");
	if (colour < REPORT_COLOURS) {
		text_add_format(html, "c%u", colour);
	} else {
		text_add_string(html, "rest");
	}
	text_add_string(html, "\" width=\"14\" height=\"14\"/></svg>");
}

static void add_share(struct etw_text *html, uint64_t part, uint64_t whole)
{
	double share = whole > 0 ? 100 * (double)part / (double)whole : 0;

	text_add_format(html, "<td class=\"n\">%s%.*f %%", share > 0 && share < 0.05 ? "< " : "",
			share < 9.95 ? 1 : 0, share > 0 && share < 0.05 ? 0.1 : share);
}

/* The step in which rows together grew most, and by how much; the first of several. */
static uint64_t find_peak(const struct report *report, const struct report_series *series,
			  size_t first, size_t end, unsigned *step)
{
	uint64_t most = 0;

	*step = 0;
	for (unsigned i = 0; i <= report->charted.steps.current; i++) {
		uint64_t sum = 0;

		for (size_t j = first; j < end; j++) {
			sum = count_sum(sum, report_growth(&series->rows[j], i));
		}
		if (sum > most) {
			most = sum;
			*step = i;
		}
	}
	return most;
}

/* The time over which a mean is taken: that of the recording, but at least a step, or the mean
 * would be above the peak. */
static uint64_t mean_time(const struct report_steps *steps)
{
	uint64_t time = etw_time_between(steps->first, steps->last);

	return time > (uint64_t)steps->step ? time : (uint64_t)steps->step;
}

/* Total, share, rates and the time of the peak of some rows together. */
void report_add_cells(struct etw_text *html, const struct report *report, size_t chart,
		      size_t first, size_t end)
{
	const struct report_series *series = &report->charted.series[chart];
	const struct report_steps *steps = &report->charted.steps;
	enum report_unit unit = report_charts[chart].unit;
	uint64_t total = 0, most;
	unsigned step;

	for (size_t i = first; i < end; i++) {
		total = count_sum(total, series->rows[i].total);
	}
	most = find_peak(report, series, first, end, &step);
	text_add_string(html, "<td class=\"n\">");
	report_add_value(html, unit, total);
	add_share(html, total, series->total);
	text_add_string(html, "<td class=\"n\">");
	report_add_rate(html, &report_charts[chart], most, (uint64_t)steps->step);
	text_add_string(html, "<td class=\"n\">");
	report_add_clock(html, report, steps->origin + (int64_t)step * steps->step);
	text_add_string(html, "<td class=\"n\">");
	report_add_rate(html, &report_charts[chart], total, mean_time(steps));
	text_add_char(html, '\n');
}

static void add_head(struct etw_text *html, size_t chart)
{
	const struct report_chart *row = &report_charts[chart];

	text_add_format(html,
			"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
			"aria-labelledby=\"c%zu\">\n<table class=\"rows\">\n<caption>From "
			"<code>%s</code></caption>\n<thead><tr><th scope=\"col\">%c%s"
			"<th scope=\"col\" class=\"n\">Total<th scope=\"col\" class=\"n\">Share"
			"<th scope=\"col\" class=\"n\">Peak<th scope=\"col\" class=\"n\">at (UTC)"
			"<th scope=\"col\" class=\"n\">Mean\n<tbody>\n",
			chart, row->sample, row->label[0] - 'a' + 'A', row->label + 1);
}

static void add_stack_table(struct etw_text *html, const struct report *report,
			    const struct report_colours *colours, size_t chart)
{
	const struct report_series *series = &report->charted.series[chart];
	size_t rows = report_rows(series);
	size_t shown = rows <= REPORT_TABLE_ROWS ? rows : REPORT_TABLE_ROWS - 1;

	add_head(html, chart);
	for (size_t i = 0; i < shown; i++) {
		text_add_format(html, "<tr data-row=\"%zu\"><th scope=\"row\">", i);
		report_add_swatch(html, i < REPORT_DRAWN ? colours->rows[chart][i] : NO_COLOUR);
		text_add_string(html, "<bdi>");
		text_add_html(html,
			      series->rows[i].name[0] != '\0' ? series->rows[i].name : "(empty)");
		text_add_string(html, "</bdi>");
		report_add_cells(html, report, chart, i, i + 1);
	}
	if (shown < rows) {
		text_add_string(html, "<tr><th scope=\"row\">");
		report_add_swatch(html, NO_COLOUR);
		report_add_number(html, rows - shown);
		text_add_string(html, " more");
		report_add_cells(html, report, chart, shown, rows);
	}
	if (rows > 1) {
		text_add_string(html, "<tr class=\"sum\"><th scope=\"row\">All");
		report_add_cells(html, report, chart, 0, rows);
	}
	text_add_string(html, "</table>\n</div>\n");
}

bool report_bound(const char *le, uint64_t *ns)
{
	const char *point = strchr(le, '.');

	*ns = 0;
	if (strcmp(le, "+Inf") == 0) {
		return false;
	}
	parse_u64(le, point ? (size_t)(point - le) : strlen(le), ns);
	for (size_t i = 0; i < 9; i++) {
		char digit = point && point[1] >= '0' ? *++point : '0';

		*ns = *ns * 10 + (uint64_t)(digit - '0');
	}
	return true;
}

/* "0.000512" as "up to 512 µs" */
static void add_bound(struct etw_text *html, const char *le)
{
	uint64_t ns;

	if (report_bound(le, &ns)) {
		text_add_string(html, "up to ");
		report_add_value(html, REPORT_SECONDS, ns);
	} else {
		text_add_string(html, "longer");
	}
}

static void add_bucket_table(struct etw_text *html, const struct report *report, size_t chart)
{
	const struct report_chart *row = &report_charts[chart];
	const struct report_series *series = &report->charted.series[chart];
	uint64_t below = 0;

	text_add_format(html,
			"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
			"aria-labelledby=\"c%zu\">\n<table class=\"rows\">\n<caption>From "
			"<code>%s</code></caption>\n<thead><tr><th scope=\"col\">Time"
			"<th scope=\"col\" class=\"n\">%c%s<th scope=\"col\" class=\"n\">Share"
			"<th scope=\"col\" class=\"n\">Cumulative share\n<tbody>\n",
			chart, row->sample, row->noun[0] - 'a' + 'A', row->noun + 1);
	for (size_t i = 0; i < report_rows(series); i++) {
		if (series->rows[i].total == 0) {
			continue;
		}
		below += series->rows[i].total;
		text_add_string(html, "<tr><th scope=\"row\">");
		add_bound(html, series->rows[i].name);
		text_add_string(html, "<td class=\"n\">");
		report_add_number(html, series->rows[i].total);
		add_share(html, series->rows[i].total, series->total);
		add_share(html, below, series->total);
		text_add_char(html, '\n');
	}
	text_add_string(html, "</table>\n</div>\n");
}

void report_add_chart(struct etw_text *html, const struct report *report,
		      const struct report_colours *colours, size_t chart)
{
	text_add_format(html, "<div class=\"plot\" data-chart=\"%zu\">\n<h3 id=\"c%zu\">%s</h3>\n",
			chart, chart, report_charts[chart].title);
	if (report_charts[chart].form == REPORT_STACK) {
		add_stack_table(html, report, colours, chart);
	} else {
		add_bucket_table(html, report, chart);
	}
	text_add_string(html, "</div>\n");
}

/* ---- files ---- */

void report_add_files(struct etw_text *html, const struct report *report,
		      enum report_direction direction, const char *sample, const char *title)
{
	const struct report_series *all = report_find(&report->charted, sample);
	struct report_file files[REPORT_FILES];
	size_t count = report_files(&report->events, direction, files);
	bool exact = true;

	if (count == 0) {
		return;
	}
	text_add_format(
		html,
		"<div class=\"plot\">\n<h3 id=\"f%d\">%s</h3>\n<div class=\"scroll\" "
		"role=\"region\" tabindex=\"0\" aria-labelledby=\"f%d\">\n"
		"<table class=\"files\">\n<caption>At most %d, by the process, without paging "
		"I/O</caption>\n<thead><tr><th scope=\"col\">File<th scope=\"col\">"
		"Process<th scope=\"col\" class=\"n\">Total<th scope=\"col\" class=\"n\">Share\n<tbody>\n",
		(int)direction, title, (int)direction, REPORT_FILES);
	for (size_t i = 0; i < count; i++) {
		exact = exact && files[i].error == 0;
		text_add_string(html, "<tr><th scope=\"row\"><bdi>");
		text_add_html(html, files[i].path);
		text_add_string(html, "</bdi><td><bdi>");
		text_add_html(html, files[i].process);
		text_add_format(html, "</bdi><td class=\"n\">%s", files[i].error > 0 ? "≥ " : "");
		report_add_value(html, REPORT_BYTES, files[i].bytes);
		add_share(html, files[i].bytes, all->total);
		text_add_char(html, '\n');
	}
	text_add_string(html, "</table>\n</div>\n");
	if (!exact) {
		text_add_string(html,
				"<p class=\"note\">There are more files than the report counts "
				"one by one: a value with ≥ may be higher.</p>\n");
	}
	text_add_string(html, "</div>\n");
}
