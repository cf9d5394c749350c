/* SPDX-License-Identifier: MIT */
#include "tool/openmetrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "metrics/exposition.h"
#include "source/event_record.h"

bool openmetrics_init(struct openmetrics *metrics, struct text *out, const char *job,
		      const char *instance)
{
	*metrics = (struct openmetrics){ .out = out,
					 .time = RECORD_NO_TIME,
					 .previous = RECORD_NO_TIME };
	text_add_string(&metrics->target, "job=\"");
	text_add_label_value(&metrics->target, job, strlen(job));
	text_add_string(&metrics->target, "\",instance=\"");
	text_add_label_value(&metrics->target, instance, strlen(instance));
	text_add_string(&metrics->target, "\"");
	return !metrics->target.failed;
}

void openmetrics_done(struct openmetrics *metrics)
{
	text_free(&metrics->target);
	text_free(&metrics->line);
	map_done(&metrics->families);
	map_done(&metrics->series);
}

/* Seconds since 1970, to the millisecond that Prometheus keeps. */
static void add_time(struct text *out, int64_t time)
{
	int64_t ms = (time - INT64_C(116444736000000000)) / 10000;

	text_add_format(out, " %" PRId64 ".%03d\n", ms / 1000, (int)(ms % 1000));
}

static bool starts_with(const char *text, size_t size, const char *start)
{
	return size >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

/* What the exporter says about this run of itself. */
static bool is_left_out(const char *name, size_t size)
{
	static const char *const starts[] = { "process_", "etw_exporter_s", "etw_replay_",
					      "etw_consumer_busy_", "etw_consumer_lag_" };

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (starts_with(name, size, starts[i])) {
			return true;
		}
	}
	return false;
}

/* Whether a text is new to a set; also without memory. */
static bool is_new(struct map *set, const char *text, size_t size)
{
	bool added = true;

	map_put(set, text_hash(text, size, hash_seed()), &added);
	return added;
}

/* "# HELP name text" and "# TYPE name type": a counter's family is called without "_total". */
static void add_head(struct openmetrics *metrics, const char *line, size_t size)
{
	const char *name = line + strlen("# HELP ");
	const char *space = memchr(name, ' ', size - strlen("# HELP "));
	const char *rest = space + 1, *end = line + size;
	size_t name_size = (size_t)(space - name);
	bool type = line[2] == 'T';

	if (!type) {
		metrics->left_out = is_left_out(name, name_size);
	} else {
		metrics->counter = *rest != 'g'; /* a gauge */
	}
	if (metrics->left_out || !is_new(&metrics->families, line, (size_t)(space - line))) {
		return;
	}
	if (name_size > 6 && memcmp(space - 6, "_total", 6) == 0) {
		space -= 6;
	}
	text_add(metrics->out, line, (size_t)(space - line));
	text_add_char(metrics->out, ' ');
	for (; rest < end; rest++) {
		if (*rest == '"') {
			text_add_char(metrics->out, '\\');
		}
		text_add_char(metrics->out, *rest);
	}
	text_add_char(metrics->out, '\n');
}

/* The series of a line with the target's labels in front of its own. */
static void add_series(struct openmetrics *metrics, const char *series, size_t size)
{
	const char *brace = memchr(series, '{', size);
	size_t name_size = brace ? (size_t)(brace - series) : size;

	text_add(metrics->out, series, name_size);
	text_add_char(metrics->out, '{');
	text_add(metrics->out, metrics->target.data, metrics->target.size);
	if (brace) {
		text_add_char(metrics->out, ',');
		text_add(metrics->out, brace + 1, size - name_size - 1);
	} else {
		text_add_char(metrics->out, '}');
	}
}

static void add_sample(struct openmetrics *metrics, const char *line, size_t size)
{
	const char *value = line + size;
	size_t series;

	while (value[-1] != ' ') {
		value--;
	}
	series = (size_t)(value - 1 - line);
	if (metrics->counter && is_new(&metrics->series, line, series) &&
	    metrics->previous != RECORD_NO_TIME) {
		add_series(metrics, line, series);
		text_add_string(metrics->out, " 0");
		add_time(metrics->out, metrics->previous);
	}
	add_series(metrics, line, series);
	text_add_char(metrics->out, ' ');
	text_add(metrics->out, value, (size_t)(line + size - value));
	add_time(metrics->out, metrics->time);
}

static void add_line(struct openmetrics *metrics, const char *line, size_t size)
{
	if (line[0] == '#') {
		add_head(metrics, line, size);
	} else if (!metrics->left_out) {
		add_sample(metrics, line, size);
	}
}

static bool take_chunk(void *context, const char *bytes, size_t size)
{
	struct openmetrics *metrics = context;
	const char *end;

	while ((end = memchr(bytes, '\n', size)) != NULL) {
		size_t part = (size_t)(end - bytes);

		if (metrics->line.size > 0) {
			text_add(&metrics->line, bytes, part);
			add_line(metrics, metrics->line.data, metrics->line.size);
			metrics->line.size = 0;
		} else {
			add_line(metrics, bytes, part);
		}
		bytes = end + 1;
		size -= part + 1;
	}
	text_add(&metrics->line, bytes, size);
	return !metrics->out->failed && !metrics->line.failed;
}

void openmetrics_page(struct openmetrics *metrics, struct registry *registry, int64_t time)
{
	metrics->previous = metrics->time;
	metrics->time = time;
	exposition_write(registry, take_chunk, metrics);
	metrics->left_out = false;
	metrics->counter = false;
	if (is_new(&metrics->families, "up", 2)) {
		text_add_string(metrics->out,
				"# HELP up 1: this is a recording.\n# TYPE up gauge\n");
	}
	add_sample(metrics, "up 1", 4);
}

void openmetrics_end(struct openmetrics *metrics)
{
	text_add_string(metrics->out, "# EOF\n");
}
