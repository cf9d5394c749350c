/* SPDX-License-Identifier: MIT */
/*
 * The data block of the page of etwtool report: what its script draws, and what other programs can
 * read. It is JSON in a script element that no browser runs.
 *
 * The values of a row are how much it grew in each step; a negative number -n stands for n steps of
 * 0, because most are. Seconds are nanoseconds. Rows beyond REPORT_DRAWN are drawn as one.
 */
#include <string.h>

#include <etw/record.h>

#include "base/json.h"
#include "etwtool/report/report.h"

/* What several rows together grew in a step. */
static uint64_t growth(const struct report_series *series, size_t first, size_t end, unsigned step)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end; i++) {
		sum = count_sum(sum, report_growth(&series->rows[i], step));
	}
	return sum;
}

static void write_steps(struct json *json, const struct report_series *series, size_t first,
			size_t end, unsigned steps)
{
	int64_t zeros = 0;

	json_member_array(json, "steps");
	for (unsigned i = 0; i < steps; i++) {
		uint64_t value = growth(series, first, end, i);

		if (value == 0) {
			zeros++;
			continue;
		}
		if (zeros > 0) {
			json_i64(json, -zeros);
			zeros = 0;
		}
		json_u64(json, value);
	}
	json_array_end(json);
}

static void write_chart(struct json *json, const struct report *report, size_t number,
			const struct report_colours *colours)
{
	static const char *const units[] = { "bytes", "count", "ns" };
	const struct report_chart *chart = &report_charts[number];
	const struct report_series *series = &report->charted.series[number];
	unsigned steps = report->charted.steps.current + 1;
	size_t rows = report_rows(series), drawn = rows;
	uint64_t others = 0;

	if (chart->form == REPORT_STACK && rows > REPORT_DRAWN) {
		drawn = REPORT_DRAWN;
	}
	json_object_begin(json);
	json_member_u64(json, "number", number);
	json_member_string(json, "title", chart->title);
	json_member_string(json, "sample", chart->sample);
	json_member_string(json, "label", chart->label);
	json_member_string(json, "only", chart->only);
	json_member_string(json, "only_value", chart->only_value);
	json_member_string(json, "unit", units[chart->unit]);
	json_member_string(json, "noun", chart->noun);
	json_key(json, "buckets");
	json_bool(json, chart->form == REPORT_BUCKETS);
	json_member_u64(json, "total", series->total);
	json_member_array(json, "rows");
	for (size_t i = 0; i < drawn; i++) {
		json_object_begin(json);
		json_member_string(json, "name", series->rows[i].name);
		json_member_u64(json, "total", series->rows[i].total);
		if (chart->form == REPORT_STACK) {
			json_member_u64(json, "colour", colours->rows[number][i]);
		}
		write_steps(json, series, i, i + 1, steps);
		json_object_end(json);
	}
	json_array_end(json);
	if (drawn < rows) {
		for (size_t i = drawn; i < rows; i++) {
			others = count_sum(others, series->rows[i].total);
		}
		json_member_object(json, "others");
		json_member_u64(json, "count", rows - drawn);
		json_member_u64(json, "total", others);
		write_steps(json, series, drawn, rows, steps);
		json_object_end(json);
	}
	json_object_end(json);
}

static void write_files(struct json *json, const struct report *report, const char *key,
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

static void write_data(struct json *json, const struct report *report,
		       const struct report_colours *colours)
{
	const struct report_steps *steps = &report->charted.steps;

	json_object_begin(json);
	json_member_u64(json, "format", 1);
	json_member_string(json, "file", report->name);
	json_member_u64(json, "records", steps->records);
	json_member_u64(json, "origin_us", etw_time_since_1970(steps->origin) / 10);
	json_member_i64(json, "step_us", steps->step / 10);
	json_member_u64(json, "steps", steps->step > 0 ? steps->current + 1 : 0);
	json_member_u64(json, "events_lost", report->statistics.events_lost);
	json_member_u64(json, "buffers_lost", report->statistics.buffers_lost);
	json_member_u64(json, "processes",
			report->events.process_count + report->events.processes_left_out);
	json_member_array(json, "charts");
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (report->charted.series[i].total > 0) {
			write_chart(json, report, i, colours);
		}
	}
	json_array_end(json);
	write_files(json, report, "written", REPORT_WRITTEN);
	write_files(json, report, "read", REPORT_READ);
	json_object_end(json);
}

void report_add_data(struct etw_text *html, const struct report *report,
		     const struct report_colours *colours)
{
	struct etw_text data = { 0 };
	struct json json;

	json_init(&json, &data, false);
	write_data(&json, report, colours);
	/* In a script element only "<" can end the element or begin a comment; in JSON it can only
	 * stand in a string. */
	for (size_t i = 0; i < data.size; i++) {
		if (data.data[i] == '<') {
			text_add_string(html, "\\u003c");
		} else {
			text_add_char(html, data.data[i]);
		}
	}
	html->failed |= data.failed;
	text_free(&data);
}
