/* SPDX-License-Identifier: MIT */
/*
 * The JSON document of etwtool report, which its page draws and other programs read. docs/report.md
 * describes it; describe additions there, and raise the version if a change alters the meaning.
 *
 * The values of a row are its growth in each step. A negative number -n stands for n steps of 0,
 * because most steps are 0; zeros at the end are left out. Seconds are in nanoseconds.
 */
#include <string.h>

#include <etw/record.h>

#include "base/utc.h"
#include "etwtool/record_needs.h"
#include "etwtool/report/report.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/version.h"

enum { DOCUMENT_VERSION = 1 };

struct json_writer {
	struct json *json;
	const struct report *report;
	bool with_steps;
};

/* ---- what was recorded ---- */

static void add_recording(struct json *json, const struct report *report)
{
	const struct report_steps *steps = &report->charted.steps;
	const struct report_machine *machine = &report->events.machine;
	const struct etw_header *header = report->header;
	bool timed = steps->step > 0;
	struct etw_text version = { 0 };

	json_member_object(json, "recording");
	json_member_string(json, "file", report->name);
	json_member_u64(json, "size_bytes", report->size_bytes);
	json_member_u64(json, "records", steps->records);
	utc_member(json, "first", timed ? steps->first : ETW_RECORD_NO_TIME);
	utc_member(json, "last", timed ? steps->last : ETW_RECORD_NO_TIME);
	json_member_u64(json, "duration_us", etw_time_between(steps->first, steps->last) / 10);
	json_member_u64(json, "events_lost", report->statistics.events_lost);
	json_member_u64(json, "buffers_lost", report->statistics.buffers_lost);
	json_object_end(json);

	json_member_object(json, "session");
	json_member_string(json, "name", header->logger_name);
	json_member_string(json, "mode", etw_header_mode_name(header));
	utc_member(json, "start", header->start_time);
	utc_member(json, "end", header->end_time != 0 ? header->end_time : ETW_RECORD_NO_TIME);
	json_object_end(json);

	json_member_object(json, "machine");
	json_member_string(json, "name", machine->name);
	text_add_format(&version, "%u.%u", (unsigned)header->version_major,
			(unsigned)header->version_minor);
	json_member_string(json, "windows", version.data);
	json_member_u64(json, "build", header->os_build);
	json_member_u64(json, "processors", header->processors);
	json_member_u64(json, "cpu_mhz", header->cpu_mhz);
	json_member_u64(json, "memory_mib", machine->memory_mib);
	json_object_end(json);
	json->out->failed |= version.failed;
	text_free(&version);
}

static void add_finding(void *context, const struct report_finding *finding)
{
	static const char *const severities[] = {
		[REPORT_GOOD] = "good", [REPORT_NOTE] = "note", [REPORT_PROBLEM] = "problem"
	};
	struct json *json = context;

	json_object_begin(json);
	json_member_string(json, "about", finding->about_losses ? "losses" : "events");
	json_member_string(json, "type", finding->type);
	json_member_string(json, "severity", severities[finding->severity]);
	json_member_string(json, "text", finding->text);
	if (finding->name_size > 0) {
		json_key(json, "name");
		json_text(json, finding->text, finding->name_size);
	}
	if (finding->chart) {
		json_member_string(json, "chart", finding->chart->title);
	}
	json_object_end(json);
}

static void add_findings(struct json *json, const struct report *report)
{
	json_member_array(json, "findings");
	json->out->failed |= !report_find(report, add_finding, json);
	json_array_end(json);
}

static void add_firsts(struct json *json, const struct report *report)
{
	json_member_array(json, "firsts");
	for (size_t i = 0; i < REPORT_FIRSTS; i++) {
		size_t chart = report_first_chart(report, &report_firsts[i]);

		if (chart < REPORT_CHARTS) {
			json_object_begin(json);
			json_member_string(json, "what", report_firsts[i].what);
			json_member_string(json, "chart", report_charts[chart].title);
			json_object_end(json);
		}
	}
	json_array_end(json);
}

/* ---- charts ---- */

static void add_steps(struct json_writer *writer, const struct report_series *series, size_t first,
		      size_t end)
{
	int64_t zeros = 0;

	json_member_array(writer->json, "steps");
	for (unsigned i = 0; i <= writer->report->charted.steps.current; i++) {
		uint64_t value = 0;

		for (size_t j = first; j < end; j++) {
			value = count_sum(value, report_growth(&series->rows[j], i));
		}
		if (value == 0) {
			zeros++;
			continue;
		}
		if (zeros > 0) {
			json_i64(writer->json, -zeros);
			zeros = 0;
		}
		json_u64(writer->json, value);
	}
	json_array_end(writer->json);
}

/* Returns the sum of the totals of the rows from first to end, which is excluded. */
static uint64_t total_of_rows(const struct report_series *series, size_t first, size_t end)
{
	uint64_t total = 0;

	for (size_t i = first; i < end; i++) {
		total = count_sum(total, series->rows[i].total);
	}
	return total;
}

/* Adds the total of some rows, and the step in which they grew most together. */
static void add_totals(struct json_writer *writer, const struct report_series *series, size_t first,
		       size_t end)
{
	unsigned step;
	uint64_t most = report_peak(writer->report, series, first, end, &step);

	json_member_u64(writer->json, "total", total_of_rows(series, first, end));
	json_member_u64(writer->json, "peak", most);
	json_member_u64(writer->json, "peak_step", step);
}

/* Returns how many rows of a chart are named; the others are shown together. */
static size_t named_rows(const struct report_chart *chart, const struct report_series *series)
{
	size_t rows = report_rows(series);

	/* If only one row were left for "others", it shows its own name instead. */
	return chart->form == REPORT_STACK && rows > REPORT_ROWS + 1 ? REPORT_ROWS : rows;
}

static void add_chart(struct json_writer *writer, size_t number)
{
	static const char *const units[] = { "bytes", "count", "ns" };
	const struct report_chart *chart = &report_charts[number];
	const struct report_series *series = &writer->report->charted.series[number];
	size_t rows = report_rows(series), named = named_rows(chart, series);
	struct json *json = writer->json;

	json_object_begin(json);
	json_member_string(json, "title", chart->title);
	json_member_string(json, "section", chart->section);
	json_member_string(json, "sample", chart->sample);
	json_member_string(json, "label", chart->label);
	if (chart->only) {
		json_member_string(json, "only", chart->only);
		json_member_string(json, "only_value", chart->only_value);
	}
	json_member_string(json, "unit", units[chart->unit]);
	if (chart->noun) {
		json_member_string(json, "noun", chart->noun);
	}
	json_member_string(json, "form", chart->form == REPORT_BUCKETS ? "buckets" : "stack");
	add_totals(writer, series, 0, rows);
	json_member_array(json, "rows");
	for (size_t i = 0; i < named; i++) {
		json_object_begin(json);
		json_member_string(json, "name", series->rows[i].name);
		add_totals(writer, series, i, i + 1);
		if (writer->with_steps) {
			add_steps(writer, series, i, i + 1);
		}
		json_object_end(json);
	}
	json_array_end(json);
	if (named < rows) {
		json_member_object(json, "others");
		json_member_u64(json, "count", rows - named);
		add_totals(writer, series, named, rows);
		if (writer->with_steps) {
			add_steps(writer, series, named, rows);
		}
		json_object_end(json);
	}
	json_object_end(json);
}

static void add_charts(struct json_writer *writer)
{
	const struct report_steps *steps = &writer->report->charted.steps;
	struct json *json = writer->json;

	json_member_object(json, "time");
	json_member_u64(json, "origin_us", etw_time_since_1970(steps->origin) / 10);
	json_member_i64(json, "step_us", steps->step / 10);
	json_member_u64(json, "steps", steps->step > 0 ? steps->current + 1 : 0);
	json_member_u64(json, "mean_us", report_mean_time(steps) / 10);
	json_object_end(json);
	json_member_array(json, "charts");
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (report_charts[i].form != REPORT_REMARK &&
		    writer->report->charted.series[i].total > 0) {
			add_chart(writer, i);
		}
	}
	json_array_end(json);
}

static void add_files(struct json *json, const struct report *report, const char *key,
		      enum report_direction direction)
{
	struct report_file files[REPORT_FILES];
	size_t count = report_files(&report->events, direction, files);

	json_member_array(json, key);
	for (size_t i = 0; i < count; i++) {
		json_object_begin(json);
		json_member_string(json, "path", files[i].path);
		json_member_string(json, "process", files[i].process);
		json_member_u64(json, "bytes", files[i].bytes);
		json_member_u64(json, "error", files[i].error);
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- what the recording lacks ---- */

/* Returns what a collector needs; the caller frees it with record_needs_done(). */
static struct record_needs needs_of(struct json *json, const struct report *report,
				    const struct collector *collector)
{
	struct record_needs needs = { 0 };
	struct etw_error err;

	json->out->failed |=
		!record_needs_add_collector(&needs, collector, report->manifests, &err);
	return needs;
}

static void add_lacks(struct json *json, const struct report *report)
{
	json_member_array(json, "lacks");
	for (size_t i = 0; i < report->rules->collector_count; i++) {
		const struct collector *collector = report->rules->collectors[i];
		struct record_needs needs;

		if (!report->rules->infos[i].on || report_is_fed(report, collector->name)) {
			continue;
		}
		needs = needs_of(json, report, collector);
		json_object_begin(json);
		json_member_string(json, "collector", collector->name);
		json_member_string(json, "help", collector->help);
		json_add_needs(json, &needs);
		json_object_end(json);
		record_needs_done(&needs);
	}
	json_array_end(json);
}

/* Adds the logman lines that record what a collector counts. */
static void add_how(struct json *json, const struct report *report, const char *name)
{
	for (size_t i = 0; i < report->rules->collector_count; i++) {
		const struct collector *collector = report->rules->collectors[i];
		struct record_needs needs;
		struct etw_text lines = { 0 };

		if (strcmp(collector->name, name) != 0) {
			continue;
		}
		needs = needs_of(json, report, collector);
		if (!record_needs_empty(&needs)) {
			text_add_logman_start(&lines, "", &needs);
			json_member_string(json, "record_with", lines.data);
		}
		json->out->failed |= lines.failed;
		text_free(&lines);
		record_needs_done(&needs);
	}
}

/* Returns whether no chart of the section has a total, and no list of processes is in it. */
static bool section_is_empty(const struct report *report, const struct report_section *section)
{
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (report_charts[i].section &&
		    strcmp(report_charts[i].section, section->id) == 0 &&
		    report->charted.series[i].total > 0) {
			return false;
		}
	}
	return section->collector &&
	       (strcmp(section->id, "processes") != 0 || report->events.process_count == 0);
}

static void add_sections(struct json *json, const struct report *report)
{
	json_member_array(json, "sections");
	for (size_t i = 0; i < REPORT_SECTIONS; i++) {
		const struct report_section *section = &report_sections[i];
		bool empty = section_is_empty(report, section);

		json_object_begin(json);
		json_member_string(json, "id", section->id);
		json_member_string(json, "title", section->title);
		json_member_string(json, "note", section->note);
		json_key(json, "empty");
		json_bool(json, empty);
		if (empty) {
			add_how(json, report, section->collector);
		}
		json_object_end(json);
	}
	json_array_end(json);
}

void report_add_json(struct etw_text *out, const struct report *report, bool with_steps)
{
	struct json json;
	struct json_writer writer = { .json = &json, .report = report, .with_steps = with_steps };

	json_init(&json, out, false);
	json_object_begin(&json);
	json_member_u64(&json, "etwtool_report", DOCUMENT_VERSION);
	json_member_string(&json, "made_by", program_version.number);
	add_recording(&json, report);
	add_findings(&json, report);
	add_firsts(&json, report);
	add_lacks(&json, report);
	add_sections(&json, report);
	add_charts(&writer);
	json_member_object(&json, "files");
	add_files(&json, report, "written", REPORT_WRITTEN);
	add_files(&json, report, "read", REPORT_READ);
	json_object_end(&json);
	report_add_processes(&json, &report->events);
	json_object_end(&json);
}
