/* SPDX-License-Identifier: MIT */
/*
 * What the numbers of a report lack: losses, doubts, and what was not recorded at all.
 *
 * Losses are what Windows counted while the recording was made, and what could not be read of the
 * file. Windows writes its counts into the header when the session is stopped; a recording that was
 * not closed has zeros there, which say nothing. Doubts are what the exporter counts about its own
 * work (docs/metrics.md): events without a layout, names that no event has, limits that were
 * reached. A collector is fed if the dry run saw an event that one of its rules is about; one that
 * has no rules, if its family has a sample.
 */
#include <string.h>

#include <etw/kernel.h>
#include <etw/record.h>

#include "base/html.h"
#include "etwtool/record_needs.h"
#include "etwtool/report/report.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/track/state_gauges.h"

/* ---- losses ---- */

static void add_lost(struct etw_text *html, const struct etw_source_statistics *statistics)
{
	text_add_string(html, "<p class=\"sentence\"><span class=\"bad sentence\">Lost when the "
			      "recording was made:</span> ");
	if (statistics->events_lost > 0) {
		report_add_counted(html, statistics->events_lost, "event");
	}
	if (statistics->events_lost > 0 && statistics->buffers_lost > 0) {
		text_add_string(html, ", ");
	}
	if (statistics->buffers_lost > 0) {
		report_add_counted(html, statistics->buffers_lost, "buffer");
		text_add_string(html, " with an unknown number of events");
	}
	text_add_string(html, ". Everything below is too low by what they would have added.</p>\n");
}

static void add_damage(struct etw_text *html, const struct report *report)
{
	const struct etw_source_statistics *statistics = &report->statistics;

	if (statistics->truncated) {
		text_add_string(
			html,
			"<p class=\"sentence\"><span class=\"bad sentence\">The recording " ETW_RECORDING_CUT_SHORT
			".</span></p>\n");
	}
	if (statistics->bad_buffers > 0 || statistics->bad_records > 0) {
		text_add_string(
			html,
			"<p class=\"sentence\"><span class=\"bad sentence\">The recording " ETW_RECORDING_DAMAGED
			":</span> ");
		text_add_damage(html, statistics);
		text_add_string(html, ".</p>\n");
	}
}

/* What a row of a remark's counter means: so many of a noun, and a sentence about them in two
 * parts, between which the name of the row stands if `after` is set. */
struct remark {
	const char *sample, *name; /* name NULL: any */
	const char *noun, *before, *after;
};

/* NULL: nothing is wrong. */
static const struct remark *find_remark(const char *sample, const char *name)
{
	static const struct remark rows[] = {
		{ "etw_consumer_lost_notifications_total", NULL, "record",
		  "saying that events were lost:", "" },
		{ "etw_consumer_unattributed_events_total", NULL, "event", "of a",
		  " that no event of the recording names" },
		{ "etw_consumer_records_total", "no_schema", "event",
		  "without a known layout, whose fields could not be read", NULL },
		{ "etw_consumer_records_total", "undecodable", "event", "that could not be decoded",
		  NULL },
		{ "etw_consumer_records_total", "filtered", "event",
		  "taken out by the filters of the configuration", NULL },
		{ "etw_decode_errors_total", NULL, "event", "that a rule could not evaluate, of",
		  "" },
		{ "etw_invalid_durations_total", NULL, "time",
		  "that is negative or longer than the machine had run, left out of", "" },
		{ "etw_exporter_series_overflow_total", NULL, "event",
		  "counted under the name _other because a limit was reached, in", "" },
		{ "etw_exporter_series_evicted_total", NULL, "label set",
		  "given back because a limit was near, in", "" },
		{ "etw_state_evictions_total", NULL, "item", "dropped from a full table:", "" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(rows[i].sample, sample) == 0 &&
		    (!rows[i].name || strcmp(rows[i].name, name) == 0)) {
			return &rows[i];
		}
	}
	return NULL;
}

static void add_item(struct etw_text *html, bool *open)
{
	text_add_string(html, *open ? "<li>" : "<ul class=\"remarks\">\n<li>");
	*open = true;
}

static void add_remark(struct etw_text *html, const struct remark *remark,
		       const struct report_row *row)
{
	report_add_counted(html, row->total, remark->noun);
	text_add_format(html, " %s", remark->before);
	if (remark->after) {
		text_add_string(html, " <bdi>");
		text_add_html(html, row->name);
		text_add_format(html, "</bdi>%s", remark->after);
	}
	text_add_string(html, ".\n");
}

static void add_remarks(struct etw_text *html, const struct report *report)
{
	const struct report_steps *steps = &report->charted.steps;
	bool open = false;

	if (report->header->end_time == 0) {
		add_item(html, &open);
		text_add_string(html,
				"The recording was not closed, so its header does not say how "
				"many events were lost.\n");
	}
	if (report->clock_doubt) {
		add_item(html, &open);
		text_add_string(html, "The clock of the recording is doubtful: ");
		text_add_html(html, report->clock_doubt);
		text_add_string(html, ".\n");
	}
	if (steps->outside > 0) {
		add_item(html, &open);
		report_add_counted(html, steps->outside, "record");
		text_add_string(html,
				" without a time between 1970 and 9999: they count where they "
				"come.\n");
	}
	if (report->statistics.late_records > 0) {
		add_item(html, &open);
		report_add_counted(html, report->statistics.late_records, "record");
		text_add_string(html, " out of order.\n");
	}
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		const struct report_chart *chart = &report_charts[i];
		const struct report_series *series = &report->charted.series[i];

		for (size_t j = 0; chart->form == REPORT_REMARK && j < report_rows(series); j++) {
			const struct remark *remark =
				find_remark(chart->sample, series->rows[j].name);

			if (remark) {
				add_item(html, &open);
				add_remark(html, remark, &series->rows[j]);
			}
		}
	}
	text_add_string(html, open ? "</ul>\n" : "");
}

void report_add_losses(struct etw_text *html, const struct report *report)
{
	const struct etw_source_statistics *statistics = &report->statistics;
	bool lost = statistics->events_lost > 0 || statistics->buffers_lost > 0;
	bool damaged = statistics->truncated || statistics->bad_buffers > 0 ||
		       statistics->bad_records > 0;

	if (lost) {
		add_lost(html, statistics);
	}
	add_damage(html, report);
	if (!lost && !damaged && report->header->end_time != 0) {
		text_add_string(html,
				"<p class=\"sentence\"><span class=\"good sentence\">No event "
				"was lost</span> when the recording was made, nor in reading "
				"it.</p>\n");
	} else if (!lost && !damaged) {
		text_add_string(html,
				"<p class=\"sentence\"><span class=\"bad sentence\">Losses are "
				"not known.</span></p>\n");
	}
	add_remarks(html, report);
}

/* ---- collectors that the recording does not feed ---- */

static bool is_fed(const struct report *report, const char *collector)
{
	const struct dry_run_rule *rule;

	for (size_t i = 0; (rule = dry_run_at(report->dry_run, i)) != NULL; i++) {
		if (rule->events > 0 && strcmp(rule->rule->collector->name, collector) == 0) {
			return true;
		}
	}
	return state_gauges_have_series(report->registry, collector);
}

static void add_needs(struct etw_text *html, const struct collector *collector)
{
	const char *between = "kernel flags ";

	for (size_t i = 0; i < ETW_KERNEL_FLAG_COUNT; i++) {
		if ((collector->kernel_flags & etw_kernel_flag_values[i]) != 0) {
			text_add_format(html, "%s<code>%s</code>", between,
					etw_kernel_flag_names[i]);
			between = ", ";
		}
	}
	for (size_t i = 0; i < ETW_KERNEL_GROUP_COUNT; i++) {
		if ((collector->kernel_groups >> i & 1) != 0) {
			text_add_format(html, "%s<code>%s</code>", between,
					etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + i]);
			between = ", ";
		}
	}
	between = between[0] == ',' ? "; provider " : "provider ";
	for (size_t i = 0; i < collector->provider_count; i++) {
		text_add_format(html, "%s<code>", between);
		text_add_html(html,
			      collector->providers[i].name ? collector->providers[i].name : "…");
		text_add_string(html, "</code>");
		between = ", ";
	}
}

void report_add_unfed(struct etw_text *html, const struct report *report)
{
	size_t unfed = 0;

	for (size_t i = 0; i < report->rules->collector_count; i++) {
		const struct collector *collector = report->rules->collectors[i];

		if (!report->rules->infos[i].on || is_fed(report, collector->name)) {
			continue;
		}
		if (unfed++ == 0) {
			text_add_string(
				html,
				"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
				"aria-labelledby=\"lacks-title\">\n<table class=\"lacks\">\n<caption>"
				"Collectors of the exporter that the recording has no events for"
				"</caption>\n<thead><tr><th scope=\"col\">Collector<th scope=\"col\">"
				"What it would show<th scope=\"col\">What must be recorded\n<tbody>\n");
		}
		text_add_string(html, "<tr><th scope=\"row\">");
		text_add_html(html, collector->name);
		text_add_string(html, "<td>");
		text_add_html(html, collector->help);
		text_add_string(html, "<td>");
		add_needs(html, collector);
		text_add_char(html, '\n');
	}
	text_add_string(html, unfed > 0 ? "</table>\n</div>\n" :
					  "<p>The recording has events for every collector.</p>\n");
}

void report_add_how(struct etw_text *html, const struct report *report, const char *collector)
{
	struct record_needs needs = { 0 };
	struct etw_text lines = { 0 };
	struct etw_error err;
	char *line, *end;

	for (size_t i = 0; i < report->rules->collector_count; i++) {
		const struct collector *row = report->rules->collectors[i];

		if (strcmp(row->name, collector) == 0) {
			html->failed |=
				!record_needs_add_collector(&needs, row, report->manifests, &err);
		}
	}
	text_add_string(html,
			"<p>The recording has no such events: nothing of the kind happened, or it "
			"was not recorded.</p>\n");
	if (!record_needs_empty(&needs)) {
		text_add_logman_start(&lines, "", &needs);
		text_add_string(html, "<p class=\"note\">To record it (expected to work; no "
				      "Windows has run it yet):</p>\n<pre>");
		for (line = lines.data; line && (end = strchr(line, '\n')) != NULL;
		     line = end + 1) {
			*end = '\0';
			text_add_html(html, line);
			text_add_char(html, '\n');
		}
		text_add_string(html, "</pre>\n");
	}
	html->failed |= lines.failed;
	text_free(&lines);
	record_needs_done(&needs);
}
