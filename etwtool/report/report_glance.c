/* SPDX-License-Identifier: MIT */
/*
 * The first screen of the page of etwtool report: what was recorded, what happened, and who was
 * first in what.
 *
 * It is for a reader who has a minute. So it says which processes ended by an exception, how slow
 * the disks were at worst, and of each resource who used it most and when; each links to the chart
 * or table with the rest. Nothing is judged that the recording does not say: a process that ends
 * with a status of its own, such as 1, may mean anything, and a slow disk may be an old one.
 */
#include <inttypes.h>
#include <string.h>

#include <etw/record.h>

#include "base/html.h"
#include "etwtool/report/report.h"
#include "etwtool/utc.h"

/* ---- what, when, where ---- */

static void add_fact(struct etw_text *html, const char *name)
{
	text_add_format(html, "<div><dt>%s</dt><dd>", name);
}

static void end_fact(struct etw_text *html)
{
	text_add_string(html, "</dd></div>\n");
}

/* "2024-05-14 07:00:00.002", or without the date if it is that of another time. */
static void add_utc(struct etw_text *html, int64_t time, int64_t after)
{
	char text[UTC_TEXT_SIZE], other[UTC_TEXT_SIZE];

	if (!utc_format(time, text)) {
		text_add_string(html, "not known");
		return;
	}
	if (after == ETW_RECORD_NO_TIME || !utc_format(after, other) ||
	    memcmp(text, other, 10) != 0) {
		text_add(html, text, 10);
		text_add_char(html, ' ');
	}
	text_add(html, text + 11, 12);
}

static void add_events(struct etw_text *html, const struct report *report)
{
	const struct report_steps *steps = &report->charted.steps;

	add_fact(html, "Recorded");
	report_add_counted(html, steps->records, "event");
	if (steps->step > 0) {
		text_add_string(html, " in ");
		report_add_duration(html, etw_time_between(steps->first, steps->last));
		text_add_string(html, ", from ");
		add_utc(html, steps->first, ETW_RECORD_NO_TIME);
		text_add_string(html, " to ");
		add_utc(html, steps->last, steps->first);
		text_add_string(html, " UTC");
	}
	end_fact(html);
}

static void add_session(struct etw_text *html, const struct report *report)
{
	const struct etw_header *header = report->header;

	add_fact(html, "Session");
	if (header->logger_name[0] != '\0') {
		text_add_string(html, "<bdi>");
		text_add_html(html, header->logger_name);
		text_add_string(html, "</bdi>, ");
	}
	text_add_format(html, "%s, from ", etw_header_mode_name(header));
	add_utc(html, header->start_time, ETW_RECORD_NO_TIME);
	if (header->end_time != 0) {
		text_add_string(html, " to ");
		add_utc(html, header->end_time, header->start_time);
	}
	text_add_format(html, " UTC%s, file of ",
			header->end_time == 0 ? "; it was not closed" : "");
	report_add_value(html, REPORT_BYTES, report->size_bytes);
	end_fact(html);
}

static void add_machine(struct etw_text *html, const struct report *report)
{
	const struct report_machine *machine = &report->events.machine;
	const struct etw_header *header = report->header;

	add_fact(html, "Machine");
	if (machine->name && machine->name[0] != '\0') {
		text_add_string(html, "<bdi>");
		text_add_html(html, machine->name);
		text_add_string(html, "</bdi>, ");
	}
	text_add_format(html, "Windows %u.%u build %u, ", (unsigned)header->version_major,
			(unsigned)header->version_minor, (unsigned)header->os_build);
	report_add_counted(html, header->processors, "processor");
	if (header->cpu_mhz > 0) {
		text_add_format(html, " of %u MHz", (unsigned)header->cpu_mhz);
	}
	if (machine->memory_mib > 0) {
		text_add_format(html, ", %.1f GiB of memory", (double)machine->memory_mib / 1024);
	}
	end_fact(html);
}

void report_add_facts(struct etw_text *html, const struct report *report)
{
	add_events(html, report);
	add_machine(html, report);
	add_session(html, report);
}

/* ---- what happened ---- */

enum { FAILURES = 4 }; /* of processes, that are said */

/* The failure that follows another one in time; NULL: none. */
static const struct report_process *next_failure(const struct report_events *events,
						 const struct report_process *last)
{
	const struct report_process *found = NULL;

	for (size_t i = 0; i < events->process_count; i++) {
		const struct report_process *process = &events->processes[i];
		bool later = !last || process->end > last->end ||
			     (process->end == last->end && process > last);

		if (process->exit_status < 0 && later && (!found || process->end < found->end)) {
			found = process;
		}
	}
	return found;
}

static void add_failures(struct etw_text *html, const struct report *report)
{
	const struct report_process *failure = NULL;
	size_t count = 0;

	while ((failure = next_failure(&report->events, failure)) != NULL) {
		if (count++ >= FAILURES) {
			continue;
		}
		text_add_string(html, "<li><strong><bdi>");
		text_add_html(html, failure->name[0] != '\0' ? failure->name : "(no name)");
		text_add_format(html, "</bdi></strong> (process %" PRIu32 ") ended with ",
				failure->process_id);
		report_add_exit_status(html, failure->exit_status);
		text_add_string(html, " at ");
		report_add_clock(html, report, failure->end);
		text_add_string(html, ".\n");
	}
	if (count > FAILURES) {
		text_add_format(html,
				"<li>%zu more ended by an exception or an error: see "
				"<a href=\"#processes\">Processes</a>.\n",
				count - FAILURES);
	}
	if (count == 0 && report->events.process_count > 0 &&
	    report->events.processes_left_out == 0) {
		text_add_string(html, "<li>No process ended by an exception.\n");
	}
}

/* "up to 2.05 ms": how long so many percent of what the buckets count took at most. */
static void add_within(struct etw_text *html, const struct report_series *series, unsigned percent)
{
	uint64_t below = 0, bound;
	size_t i = 0;
	bool bounded;

	for (; i + 1 < report_rows(series); i++) {
		below += series->rows[i].total;
		if ((double)below >= (double)series->total * percent / 100) {
			break;
		}
	}
	bounded = report_bound(series->rows[i].name, &bound);
	if (!bounded) {
		report_bound(series->rows[i - 1].name, &bound); /* the last one that has one */
	}
	text_add_format(html, "<span>%s ", bounded ? "up to" : "more than");
	report_add_value(html, REPORT_SECONDS, bound);
	text_add_string(html, "</span>");
}

static void add_disk_times(struct etw_text *html, const struct report *report)
{
	static const struct {
		const char *operation, *what;
	} rows[] = { { "read", "Disk reads" },
		     { "write", "Disk writes" },
		     { "flush", "Disk flushes" } };

	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		const struct report_series *series = &report->charted.series[i];
		uint64_t bound;

		for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
			const struct report_chart *chart = &report_charts[i];

			if (!chart->only || strcmp(chart->only_value, rows[j].operation) != 0 ||
			    series->total == 0 || !report_bound(series->rows[0].name, &bound)) {
				continue;
			}
			text_add_format(html, "<li><a href=\"#c%zu\">%s</a>: half took ", i,
					rows[j].what);
			add_within(html, series, 50);
			text_add_string(html, ", 95&nbsp;% ");
			add_within(html, series, 95);
			text_add_string(html, ", the slowest ");
			add_within(html, series, 100);
			text_add_string(html, " (limits of histogram buckets).\n");
		}
	}
}

/* The chart of a sample by a label; NULL: it has nothing to show. */
static const struct report_series *chart_by(const struct report *report, const char *sample,
					    const char *label)
{
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		const struct report_series *series = &report->charted.series[i];

		if (strcmp(report_charts[i].sample, sample) == 0 &&
		    strcmp(report_charts[i].label, label) == 0 && series->total > 0) {
			return series;
		}
	}
	return NULL;
}

static uint64_t total_of_row(const struct report_series *series, const char *name)
{
	for (size_t i = 0; series && i < series->count; i++) {
		if (strcmp(series->rows[i].name, name) == 0) {
			return series->rows[i].total;
		}
	}
	return 0;
}

/* Who made the disks write, where the recording can say it of most bytes. */
static void add_disk_cause(struct etw_text *html, const struct report *report)
{
	static const char caused[] = "etw_disk_caused_written_bytes_total";
	const struct report_series *processes = chart_by(report, caused, "process");
	uint64_t unknown = total_of_row(chart_by(report, caused, "how"), "unknown");
	double whole = processes ? (double)processes->total : 1;

	if (!processes || unknown > processes->total / 2) {
		return;
	}
	text_add_format(html, "<li><a href=\"#c%zu\">Written to disks</a>: <strong><bdi>",
			(size_t)(processes - report->charted.series));
	text_add_html(html, processes->rows[0].name);
	text_add_format(html, "</bdi></strong> caused %.0f&nbsp;%% of ",
			100 * (double)processes->rows[0].total / whole);
	report_add_value(html, REPORT_BYTES, processes->total);
	if (unknown > 0) {
		text_add_format(html, "; the cause of %.1f&nbsp;%% is not known",
				100 * (double)unknown / whole);
	}
	text_add_string(html, ".\n");
}

/* ---- who was first in what ---- */

static const struct {
	const char *sample, *what;
	const char *unless; /* a sample that says it better, if there is one */
} firsts[] = {
	{ "etw_file_written_bytes_total", "Written to files", NULL },
	{ "etw_file_read_bytes_total", "Read from files", NULL },
	{ "etw_disk_process_io_seconds_total", "Waited for disks", NULL },
	{ "etw_disk_caused_written_bytes_total", "Made disks write", NULL },
	{ "etw_disk_caused_read_bytes_total", "Made disks read", NULL },
	{ "etw_memory_hard_fault_read_bytes_total", "Read by hard page faults", NULL },
	{ "etw_dotnet_contention_seconds_total", "Waited for .NET locks", NULL },
	{ "etw_thread_process_waits_total", "Waits of threads", NULL },
	{ "etw_process_cpu_seconds_total", "CPU time", NULL },
	{ "etw_process_cpu_samples_total", "CPU samples", "etw_process_cpu_seconds_total" },
	{ "etw_network_sent_bytes_total", "Sent over the network", NULL },
	{ "etw_network_received_bytes_total", "Received", NULL },
	{ "etw_tcp_retransmits_total", "TCP segments sent again", NULL },
	{ "etw_dpc_duration_seconds_sum", "Time in DPCs", NULL },
	{ "etw_isr_duration_seconds_sum", "Time in ISRs", NULL },
	{ "etw_dotnet_gc_pause_seconds_sum", "Pauses of .NET programs", NULL },
	{ "etw_dotnet_exceptions_total", ".NET exceptions", NULL },
};

static void add_first(struct etw_text *html, const struct report *report,
		      const struct report_colours *colours, size_t chart, const char *what)
{
	text_add_format(html, "<tr><th scope=\"row\"><a href=\"#c%zu\">%s</a><td>", chart, what);
	report_add_swatch(html, colours->rows[chart][0]);
	text_add_string(html, "<bdi>");
	text_add_html(html, report->charted.series[chart].rows[0].name);
	text_add_string(html, "</bdi>");
	report_add_cells(html, report, chart, 0, 1);
}

static void add_firsts(struct etw_text *html, const struct report *report,
		       const struct report_colours *colours)
{
	bool open = false;

	for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
		const struct report_series *series =
			report_find(&report->charted, firsts[i].sample);

		if (series->total == 0 ||
		    (firsts[i].unless &&
		     report_find(&report->charted, firsts[i].unless)->total > 0)) {
			continue;
		}
		if (!open) {
			text_add_string(
				html,
				"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
				"aria-labelledby=\"glance-title\">\n<table class=\"glance\">\n"
				"<caption>Who was first in what</caption>\n<thead><tr>"
				"<th scope=\"col\">What<th scope=\"col\">First<th scope=\"col\" "
				"class=\"n\">Total<th scope=\"col\" class=\"n\">Share"
				"<th scope=\"col\" class=\"n\">Peak<th scope=\"col\" class=\"n\">at (UTC)"
				"<th scope=\"col\" class=\"n\">Mean\n<tbody>\n");
			open = true;
		}
		add_first(html, report, colours, (size_t)(series - report->charted.series),
			  firsts[i].what);
	}
	text_add_string(html,
			open ? "</table>\n</div>\n" :
			       "<p>The recording has no events that the charts are about.</p>\n");
}

void report_add_glance(struct etw_text *html, const struct report *report,
		       const struct report_colours *colours)
{
	struct etw_text list = { 0 };

	add_failures(&list, report);
	add_disk_times(&list, report);
	add_disk_cause(&list, report);
	if (list.size > 0) {
		text_add_format(html, "<ul class=\"happened\">\n%s</ul>\n", list.data);
	}
	html->failed |= list.failed;
	text_free(&list);
	add_firsts(html, report, colours);
}
