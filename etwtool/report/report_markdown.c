/* SPDX-License-Identifier: MIT */
/*
 * Writes a report in Markdown, for pasting into a ticket: what was recorded, what was lost, what
 * happened, the first row of each chart, and what is missing. It is short for a recording of any
 * size.
 *
 * Names come from the recording, so each is put into a code span, in which nothing is markup, a
 * link or a mention of a person. A back quote would end a span, and a bar would end a table cell,
 * so similar characters replace them; characters that mislead readers become U+FFFD.
 */
#include <inttypes.h>
#include <string.h>

#include <etw/record.h>

#include "base/utc.h"
#include "base/utf8.h"
#include "etwtool/report/report.h"
#include "exporter/rules/language/rule_set.h"

enum { ROWS_MOST = 3, FILES_MOST = 5, NAME_MOST = 200 };

/* Names longer than NAME_MOST bytes are cut off. */
static void add_name(struct etw_text *out, const char *name, size_t size)
{
	const char *at = name, *end = name + (size < NAME_MOST ? size : NAME_MOST);

	text_add_char(out, '`');
	while (at < end) {
		uint32_t codepoint;
		char bytes[4];

		at += utf8_decode(at, (size_t)(end - at), &codepoint);
		codepoint = codepoint == '`'                ? 0x2cb :
			    codepoint == '|'                ? 0xa6 :
			    utf8_steers_terminal(codepoint) ? UTF8_REPLACEMENT :
							      codepoint;
		text_add(out, bytes, utf8_encode(codepoint, bytes));
	}
	text_add_string(out, size == 0 ? "(empty)`" : size > NAME_MOST ? "…`" : "`");
}

static void add_string(struct etw_text *out, const char *name)
{
	add_name(out, name, strlen(name));
}

/* ---- what was recorded ---- */

/* Adds a time such as "2024-05-14 07:00:00.002", without the date if `after` has the same date. */
static void add_utc(struct etw_text *out, int64_t time, int64_t after)
{
	char text[UTC_TEXT_SIZE], other[UTC_TEXT_SIZE];

	if (!utc_format(time, text)) {
		text_add_string(out, "not known");
		return;
	}
	if (after == ETW_RECORD_NO_TIME || !utc_format(after, other) ||
	    memcmp(text, other, 10) != 0) {
		text_add(out, text, 10);
		text_add_char(out, ' ');
	}
	text_add(out, text + 11, 12);
}

static void add_recorded(struct etw_text *out, const struct report *report)
{
	const struct report_steps *steps = &report->charted.steps;

	text_add_string(out, "- Recorded: ");
	report_add_counted(out, steps->records, "event");
	if (steps->step > 0) {
		text_add_string(out, " in ");
		report_add_duration(out, etw_time_between(steps->first, steps->last));
		text_add_string(out, ", from ");
		add_utc(out, steps->first, ETW_RECORD_NO_TIME);
		text_add_string(out, " to ");
		add_utc(out, steps->last, steps->first);
		text_add_string(out, " UTC");
	}
	text_add_char(out, '\n');
}

static void add_machine(struct etw_text *out, const struct report *report)
{
	const struct report_machine *machine = &report->events.machine;
	const struct etw_header *header = report->header;

	text_add_string(out, "- Machine: ");
	if (machine->name && machine->name[0] != '\0') {
		add_string(out, machine->name);
		text_add_string(out, ", ");
	}
	text_add_format(out, "Windows %u.%u build %" PRIu32 ", ", (unsigned)header->version_major,
			(unsigned)header->version_minor, header->os_build);
	report_add_counted(out, header->processors, "processor");
	if (header->cpu_mhz > 0) {
		text_add_format(out, " of %" PRIu32 " MHz", header->cpu_mhz);
	}
	if (machine->memory_mib > 0) {
		text_add_format(out, ", %.1f GiB of memory", (double)machine->memory_mib / 1024);
	}
	text_add_char(out, '\n');
}

static void add_session(struct etw_text *out, const struct report *report)
{
	const struct etw_header *header = report->header;

	text_add_string(out, "- Session: ");
	if (header->logger_name[0] != '\0') {
		add_string(out, header->logger_name);
		text_add_string(out, ", ");
	}
	text_add_format(out, "%s, from ", etw_header_mode_name(header));
	add_utc(out, header->start_time, ETW_RECORD_NO_TIME);
	if (header->end_time != 0) {
		text_add_string(out, " to ");
		add_utc(out, header->end_time, header->start_time);
	}
	text_add_format(out, " UTC%s, file of ",
			header->end_time == 0 ? "; it was not closed" : "");
	report_add_value(out, REPORT_BYTES, report->size_bytes);
	text_add_char(out, '\n');
}

/* ---- findings ---- */

struct finding_list {
	struct etw_text *out;
	const char *title; /* heading before the next finding; NULL: already written */
	bool about_losses;
};

static void add_finding(void *context, const struct report_finding *finding)
{
	struct finding_list *findings = context;
	struct etw_text *out = findings->out;

	if (finding->about_losses != findings->about_losses) {
		return;
	}
	if (findings->title) {
		text_add_format(out, "\n## %s\n\n", findings->title);
		findings->title = NULL;
	}
	text_add_string(out, finding->severity == REPORT_PROBLEM ? "- **!** " : "- ");
	if (finding->name_size > 0) {
		add_name(out, finding->text, finding->name_size);
	}
	text_add_string(out, finding->text + finding->name_size);
	text_add_char(out, '\n');
}

static void add_findings(struct etw_text *out, const struct report *report, const char *title,
			 bool about_losses)
{
	struct finding_list findings = { .out = out, .title = title, .about_losses = about_losses };

	out->failed |= !report_find(report, add_finding, &findings);
}

/* ---- tables ---- */

/* Adds a share: "55 %", "< 0.1 %". */
static void add_share(struct etw_text *out, uint64_t part, uint64_t whole)
{
	double share = whole > 0 ? 100 * (double)part / (double)whole : 0;

	text_add_format(out, "%s%.*f %%", share > 0 && share < 0.05 ? "< " : "",
			share < 9.95 ? 1 : 0, share > 0 && share < 0.05 ? 0.1 : share);
}

static void add_row(struct etw_text *out, const struct report *report, size_t chart, size_t row)
{
	const struct report_chart *about = &report_charts[chart];
	const struct report_series *series = &report->charted.series[chart];
	const struct report_steps *steps = &report->charted.steps;
	uint64_t total = series->rows[row].total, most;
	unsigned step;

	most = report_peak(report, series, row, row + 1, &step);
	add_string(out, series->rows[row].name);
	text_add_string(out, " | ");
	report_add_value(out, about->unit, total);
	text_add_string(out, " | ");
	add_share(out, total, series->total);
	text_add_string(out, " | ");
	report_add_rate(out, about, most, (uint64_t)steps->step);
	text_add_string(out, " | ");
	report_add_clock(out, report, steps->origin + (int64_t)step * steps->step);
	text_add_string(out, " | ");
	report_add_rate(out, about, total, report_mean_time(steps));
	text_add_string(out, " |\n");
}

static void add_firsts(struct etw_text *out, const struct report *report)
{
	const char *head = "\n## Top process per resource\n\n"
			   "| What | Who | Total | Share | Peak | at (UTC) | Mean |\n"
			   "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n";

	for (size_t i = 0; i < REPORT_FIRSTS; i++) {
		size_t chart = report_first_chart(report, &report_firsts[i]);
		size_t rows = chart < REPORT_CHARTS ? report_rows(&report->charted.series[chart]) :
						      0;

		for (size_t row = 0; row < rows && row < ROWS_MOST; row++) {
			text_add_format(out, "%s| %s | ", head,
					row == 0 ? report_firsts[i].what : "");
			add_row(out, report, chart, row);
			head = "";
		}
	}
}

static void add_files(struct etw_text *out, const struct report *report, const char *title,
		      enum report_direction direction)
{
	struct report_file files[REPORT_FILES];
	size_t count = report_files(&report->events, direction, files);

	for (size_t i = 0; i < count && i < FILES_MOST; i++) {
		if (i == 0) {
			text_add_format(out,
					"\n## %s\n\n| File | Process | Total |\n"
					"| --- | --- | ---: |\n",
					title);
		}
		text_add_string(out, "| ");
		add_string(out, files[i].path);
		text_add_string(out, " | ");
		add_string(out, files[i].process);
		text_add_string(out, files[i].error > 0 ? " | ≥ " : " | ");
		report_add_value(out, REPORT_BYTES, files[i].bytes);
		text_add_string(out, " |\n");
	}
}

/* ---- what the recording lacks ---- */

static void add_lacks(struct etw_text *out, const struct report *report)
{
	const char *head = "\n## What the recording lacks\n\nNothing for these collectors: ";
	const char *end = "";

	for (size_t i = 0; i < report->rules->collector_count; i++) {
		const char *name = report->rules->collectors[i]->name;

		if (report->rules->infos[i].on && !report_is_fed(report, name)) {
			text_add_string(out, head);
			add_string(out, name);
			head = ", ";
			end = ". `etwtool doctor FILE` says how to record what they need.\n";
		}
	}
	text_add_string(out, end);
}

void report_add_markdown(struct etw_text *out, const struct report *report)
{
	text_add_string(out, REPORT_MARKDOWN_MARK);
	add_string(out, report->name);
	text_add_string(out, "\n\n");
	add_recorded(out, report);
	add_machine(out, report);
	add_session(out, report);
	add_findings(out, report, "Losses and doubts", true);
	add_findings(out, report, "What happened", false);
	add_firsts(out, report);
	add_files(out, report, "Most written files", REPORT_WRITTEN);
	add_files(out, report, "Most read files", REPORT_READ);
	add_lacks(out, report);
}
