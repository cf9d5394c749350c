/* SPDX-License-Identifier: MIT */
/*
 * Finds what a reader of a report should know first.
 *
 * Losses are what Windows counted while the recording was made, and what could not be read from the
 * file. Windows writes its counts into the header when the session is stopped; if a recording was
 * not closed, they are zero and mean nothing. Doubts are what the exporter counts about its own
 * work (docs/metrics.md): events without a layout, names that no event has, limits that were
 * reached.
 *
 * What happened is for a reader who has a minute: which processes ended by an exception, how slow
 * the disks were at worst, and which processes made them write. Nothing is judged that the
 * recording does not say: a process that ends with its own status, such as 1, may mean anything,
 * and a slow disk may be an old one.
 */
#include <inttypes.h>
#include <string.h>

#include <etw/record.h>

#include "etwtool/report/report.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/track/tracker.h"

enum {
	FAILURES = 4,      /* failed processes that are named */
	REMARKS_MOST = 20, /* findings about one counter */
};

struct finding_search {
	const struct report *report;
	report_on_finding *on_finding;
	void *context;
	struct etw_text text; /* text of the present finding */
	size_t name_size;
	bool failed;
	bool about_losses;
};

/* Begins a finding with a name. */
static void begin_finding(struct finding_search *finder, const char *name)
{
	text_add_utf8_clean(&finder->text, name, strlen(name));
	finder->name_size = finder->text.size;
}

static void end_finding(struct finding_search *finder, const char *type,
			enum report_severity severity, const struct report_chart *chart)
{
	const struct report_finding finding = { .type = type,
						.severity = severity,
						.about_losses = finder->about_losses,
						.chart = chart,
						.text = finder->text.data,
						.name_size = finder->name_size };

	if (!finder->text.failed) {
		finder->on_finding(finder->context, &finding);
	}
	finder->failed |= finder->text.failed;
	text_clear(&finder->text);
	finder->name_size = 0;
}

static void find_text(struct finding_search *finder, const char *type,
		      enum report_severity severity, const char *sentence)
{
	text_add_string(&finder->text, sentence);
	end_finding(finder, type, severity, NULL);
}

/* ---- losses ---- */

static void find_losses(struct finding_search *finder)
{
	const struct etw_source_statistics *statistics = &finder->report->statistics;
	bool lost = statistics->events_lost > 0 || statistics->buffers_lost > 0;
	bool damaged = statistics->bad_buffers > 0 || statistics->bad_records > 0;
	bool closed = finder->report->header->end_time != 0;
	struct etw_text *text = &finder->text;

	if (lost) {
		text_add_string(text, "Lost when the recording was made: ");
		if (statistics->events_lost > 0) {
			report_add_counted(text, statistics->events_lost, "event");
		}
		if (statistics->buffers_lost > 0) {
			text_add_string(text, statistics->events_lost > 0 ? ", " : "");
			report_add_counted(text, statistics->buffers_lost, "buffer");
			text_add_string(text, " with an unknown number of events");
		}
		text_add_string(text, ". All numbers are too low by what they would have added.");
		end_finding(finder, "lost", REPORT_PROBLEM, NULL);
	}
	if (statistics->truncated) {
		find_text(finder, "cut_short", REPORT_PROBLEM,
			  "The recording " ETW_RECORDING_CUT_SHORT ".");
	}
	if (damaged) {
		text_add_string(text, "The recording " ETW_RECORDING_DAMAGED ": ");
		text_add_damage(text, statistics);
		text_add_char(text, '.');
		end_finding(finder, "damaged", REPORT_PROBLEM, NULL);
	}
	if (!lost && !damaged && !statistics->truncated) {
		find_text(finder, closed ? "nothing_lost" : "losses_unknown",
			  closed ? REPORT_GOOD : REPORT_PROBLEM,
			  closed ? "No event was lost: neither when the recording was made nor in "
				   "reading it." :
				   "Losses are not known.");
	}
}

/* The meaning of a row of a remark's counter: a number of a noun, and a sentence about them. The
 * sentence is `before`; if `after` is not NULL, the name of the row and `after` follow. */
struct remark {
	const char *sample, *name; /* name NULL: any row */
	const char *type, *noun, *before, *after;
	bool name_first; /* begin the sentence with the name, because events chose it */
};

/* Finds the remark for a row; NULL if the row means nothing bad. */
static const struct remark *find_remark(const char *sample, const char *name)
{
	static const struct remark rows[] = {
		{ "etw_consumer_lost_notifications_total", NULL, "lost_notifications", "record",
		  "saying that events were lost: ", "", false },
		{ "etw_consumer_unattributed_events_total", NULL, "unattributed", "event", "of a ",
		  " that no event of the recording names", false },
		{ "etw_consumer_records_total", "no_schema", "no_schema", "event",
		  "without a known layout, whose fields could not be read", NULL, false },
		{ "etw_consumer_records_total", "undecodable", "undecodable", "event",
		  "that could not be decoded", NULL, false },
		{ "etw_consumer_records_total", "filtered", "filtered", "event",
		  "taken out by the filters of the configuration", NULL, false },
		{ "etw_decode_errors_total", NULL, "rule_failed", "event",
		  "that a rule could not evaluate", NULL, true },
		{ "etw_invalid_durations_total", NULL, "invalid_duration", "time",
		  "that is negative or longer than the machine had run, left out of ", "", false },
		{ "etw_exporter_series_overflow_total", NULL, "overflow", "event",
		  "counted under the name _other because a limit was reached, in ", "", false },
		{ "etw_exporter_series_evicted_total", NULL, "evicted", "label set",
		  "evicted because a limit was near, in ", "", false },
		{ "etw_state_evictions_total", NULL, "table_full", "item",
		  "dropped from a full table: ", "", false },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(rows[i].sample, sample) == 0 &&
		    (!rows[i].name || strcmp(rows[i].name, name) == 0)) {
			return &rows[i];
		}
	}
	return NULL;
}

static void add_remark(struct finding_search *finder, const struct remark *remark,
		       const struct report_row *row)
{
	struct etw_text *text = &finder->text;

	if (remark->name_first) {
		begin_finding(finder, row->name);
		text_add_string(text, ": ");
	}
	report_add_counted(text, row->total, remark->noun);
	text_add_format(text, " %s%s%s.", remark->before, remark->after ? row->name : "",
			remark->after ? remark->after : "");
	end_finding(finder, remark->type, REPORT_NOTE, NULL);
}

static void find_remarks(struct finding_search *finder, size_t chart)
{
	const struct report_series *series = &finder->report->charted.series[chart];
	const struct remark *remark = NULL;
	size_t rows = report_rows(series);

	for (size_t i = 0; i < rows && i < REMARKS_MOST; i++) {
		remark = find_remark(report_charts[chart].sample, series->rows[i].name);
		if (remark) {
			add_remark(finder, remark, &series->rows[i]);
		}
	}
	/* The number of rows is limited, because events choose the names of some. */
	if (rows > REMARKS_MOST && remark) {
		text_add_format(&finder->text, "%zu more rows of this type are left out.",
				rows - REMARKS_MOST);
		end_finding(finder, remark->type, REPORT_NOTE, NULL);
	}
}

static void find_counted(struct finding_search *finder, const char *type, uint64_t number,
			 const char *sentence)
{
	if (number > 0) {
		report_add_counted(&finder->text, number, "record");
		text_add_format(&finder->text, " %s.", sentence);
		end_finding(finder, type, REPORT_NOTE, NULL);
	}
}

static void find_doubts(struct finding_search *finder)
{
	const struct report *report = finder->report;

	if (report->header->end_time == 0) {
		find_text(finder, "not_closed", REPORT_NOTE,
			  "The recording was not closed, so its header does not say how many "
			  "events were lost.");
	}
	if (report->clock_doubt) {
		text_add_format(&finder->text, "The clock of the recording is doubtful: %s.",
				report->clock_doubt);
		end_finding(finder, "clock", REPORT_NOTE, NULL);
	}
	find_counted(finder, "no_time", report->charted.steps.outside,
		     "without a time between 1970 and 9999: they count where they come");
	find_counted(finder, "late", report->statistics.late_records, "out of order");
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (report_charts[i].form == REPORT_REMARK) {
			find_remarks(finder, i);
		}
	}
}

/* ---- what happened ---- */

/* Returns the failure that follows `last` in time; NULL if there is none. */
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

static void find_failures(struct finding_search *finder)
{
	const struct report_events *events = &finder->report->events;
	const struct report_process *failure = NULL;
	size_t count = 0;

	while ((failure = next_failure(events, failure)) != NULL) {
		if (count++ >= FAILURES) {
			continue;
		}
		begin_finding(finder, failure->name[0] != '\0' ? failure->name : "(no name)");
		text_add_format(&finder->text, " (process %" PRIu32 ") ended with ",
				failure->process_id);
		report_add_exit_status(&finder->text, failure->exit_status);
		text_add_string(&finder->text, " at ");
		report_add_clock(&finder->text, finder->report, failure->end);
		text_add_char(&finder->text, '.');
		end_finding(finder, "process_failed", REPORT_PROBLEM, NULL);
	}
	if (count > FAILURES) {
		text_add_format(&finder->text,
				"%zu more ended by an exception or an error: see the processes.",
				count - FAILURES);
		end_finding(finder, "processes_failed", REPORT_PROBLEM, NULL);
	}
	if (count == 0 && events->process_count > 0 && events->processes_left_out == 0) {
		find_text(finder, "no_process_failed", REPORT_GOOD,
			  "No process ended by an exception.");
	}
}

/* Parses the upper bound of a bucket, in nanoseconds. Returns false if the bucket has none. */
static bool parse_bound(const char *le, uint64_t *ns)
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

/*
 * Adds "up to 2.05 ms": the bound under which `percent` percent of the bucketed observations are.
 */
static void add_within(struct etw_text *text, const struct report_series *series, unsigned percent)
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
	bounded = parse_bound(series->rows[i].name, &bound);
	if (!bounded) {
		/* the bound of the last bucket that has one */
		parse_bound(series->rows[i - 1].name, &bound);
	}
	text_add_string(text, bounded ? "up to " : "more than ");
	report_add_value(text, REPORT_SECONDS, bound);
}

static void find_disk_times(struct finding_search *finder)
{
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		const struct report_chart *chart = &report_charts[i];
		const struct report_series *series = &finder->report->charted.series[i];
		struct etw_text *text = &finder->text;
		uint64_t bound;

		if (!chart->only || series->total == 0 ||
		    !parse_bound(series->rows[0].name, &bound)) {
			continue;
		}
		text_add_format(text, "Disk %s%s", chart->only_value,
				strcmp(chart->only_value, "flush") == 0 ? "es" : "s");
		text_add_string(text, ": half took ");
		add_within(text, series, 50);
		text_add_string(text, ", 95 % ");
		add_within(text, series, 95);
		text_add_string(text, ", the slowest ");
		add_within(text, series, 100);
		text_add_string(text, " (limits of histogram buckets).");
		end_finding(finder, "disk_times", REPORT_NOTE, chart);
	}
}

/* Returns the chart of a sample by a label; REPORT_CHARTS if there is nothing to show. */
static size_t chart_by(const struct report *report, const char *sample, const char *label)
{
	size_t i = 0;

	while (i < REPORT_CHARTS && (report->charted.series[i].total == 0 ||
				     strcmp(report_charts[i].sample, sample) != 0 ||
				     strcmp(report_charts[i].label, label) != 0)) {
		i++;
	}
	return i;
}

/* Names the processes that made the disks write, if the recording attributes most bytes. */
static void find_disk_cause(struct finding_search *finder)
{
	static const char caused[] = "etw_disk_caused_written_bytes_total";
	const struct report *report = finder->report;
	size_t by_process = chart_by(report, caused, "process");
	size_t by_how = chart_by(report, caused, "how");
	const struct report_series *processes = &report->charted.series[by_process];
	uint64_t unknown = 0;
	double whole;

	if (by_process == REPORT_CHARTS) {
		return;
	}
	for (size_t i = 0; by_how < REPORT_CHARTS && i < report->charted.series[by_how].count;
	     i++) {
		const struct report_row *row = &report->charted.series[by_how].rows[i];

		unknown += strcmp(row->name, "unknown") == 0 ? row->total : 0;
	}
	if (unknown > processes->total / 2) {
		return;
	}
	whole = (double)processes->total;
	begin_finding(finder, processes->rows[0].name);
	text_add_format(&finder->text, " caused %.0f %% of the ",
			100 * (double)processes->rows[0].total / whole);
	report_add_value(&finder->text, REPORT_BYTES, processes->total);
	text_add_string(&finder->text, " that were written to disks");
	if (unknown > 0) {
		text_add_format(&finder->text,
				"; %.1f %% have no known cause and count "
				"for the process that issued the requests",
				100 * (double)unknown / whole);
	}
	text_add_char(&finder->text, '.');
	end_finding(finder, "disk_cause", REPORT_NOTE, &report_charts[by_process]);
}

bool report_find(const struct report *report, report_on_finding *on_finding, void *context)
{
	struct finding_search finder = {
		.report = report, .on_finding = on_finding, .context = context, .about_losses = true
	};

	find_losses(&finder);
	find_doubts(&finder);
	finder.about_losses = false;
	find_failures(&finder);
	find_disk_times(&finder);
	find_disk_cause(&finder);
	text_free(&finder.text);
	return !finder.failed;
}

/* ---- collectors that the recording does not feed ---- */

/*
 * A collector is fed if the dry run saw an event for one of its rules. A collector without rules is
 * fed if its family has a sample.
 */
bool report_is_fed(const struct report *report, const char *collector)
{
	const struct dry_run_rule *rule;

	for (size_t i = 0; (rule = dry_run_at(report->dry_run, i)) != NULL; i++) {
		if (rule->events > 0 && strcmp(rule->rule->collector->name, collector) == 0) {
			return true;
		}
	}
	return state_gauges_have_series(report->registry, collector);
}
