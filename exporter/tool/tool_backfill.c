/* SPDX-License-Identifier: MIT */
/*
 * etwtool backfill: what Prometheus would have scraped while a recording was made, as OpenMetrics
 * with timestamps. `promtool tsdb create-blocks-from openmetrics` makes blocks of it.
 *
 * The recording is replayed as the exporter does it. Whenever the recorded time passes a multiple
 * of the step, the page of that moment is written. The exposition is the exporter's own; each line
 * of it gets the labels of the target (job and instance) and a timestamp.
 *
 * A family comes again with every page; its HELP and TYPE stand where it comes first. OpenMetrics
 * asks for all samples of a family in one place. promtool does not, and a text in that order would
 * have to be held in memory as a whole.
 *
 * Source: "OpenMetrics 1.0", prometheus.io; what promtool takes was tried with version 2.42.
 */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "health.h"
#include "metrics/exposition.h"
#include "runner.h"
#include "setup.h"
#include "source/event_record.h"
#include "tool/tool.h"

enum {
	STEP_DEFAULT_MS = 15000,
	STEP_MOST_MS = 3600000,
	STEPS_MOST = 100000, /* without a record between them: then a clock was set */
	TICKS_PER_MS = 10000,
};

struct request {
	struct tool_arguments arguments;
	uint64_t step_ms; /* 0: STEP_DEFAULT_MS */
	const char *config, *job, *instance;
};

static bool read_step(void *step_ms, const char *value, struct error *err)
{
	uint64_t *ms = step_ms;

	(void)err;
	return parse_duration(value, strlen(value), ms) && *ms > 0 && *ms <= STEP_MOST_MS;
}

#define AT(member) .offset = offsetof(struct request, member)

static const struct command_option option_rows[] = {
	{ "--step", "DURATION", "time between two samples: 500ms, 1s; 15s without it", OPTION_READ,
	  AT(step_ms), .takes = "a duration from 1ms to 1h", .read = read_step },
	{ "--config", "FILE", "collectors and limits, as for the exporter", OPTION_TEXT,
	  AT(config) },
	{ "--job", "NAME", "label of every series; etw without it", OPTION_TEXT, AT(job) },
	{ "--instance", "NAME", "label of every series; the file's name without it", OPTION_TEXT,
	  AT(instance) },
	{ NULL },
};

/* ---- OpenMetrics ---- */

struct openmetrics {
	struct text *out;       /* borrowed: where lines are added */
	struct text target;     /* `job="etw",instance="a.etl"`, of every series */
	struct map families;    /* hash of a family's name: its HELP and TYPE are out */
	struct map series;      /* hash of a counter's name and labels: it is out */
	struct text line;       /* the beginning of one that came in two pieces */
	int64_t time, previous; /* of this page and the one before, or RECORD_NO_TIME */
	bool counter;           /* the lines that come now only grow */
	bool left_out;
};

/* job, instance: label values. False without memory. */
static bool openmetrics_init(struct openmetrics *metrics, struct text *out, const char *job,
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

static void openmetrics_done(struct openmetrics *metrics)
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

/*
 * Adds all samples of the registry as of a time (100 ns since 1601 UTC, later than that of the page
 * before), and `up`. A counter that is new since the page before is written with 0 there, because
 * increase() would miss the value that a series begins with. What is about this run and not about
 * the time of the recording is left out.
 */
static void openmetrics_page(struct openmetrics *metrics, struct registry *registry, int64_t time)
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

/* ---- pages ---- */

struct backfill {
	struct setup setup;
	struct openmetrics metrics;
	struct text out;
	int64_t step; /* 100 ns */
	int64_t next; /* time of the next page; RECORD_NO_TIME before the first record */
	bool failed;  /* standard output takes no more */
};

static void write_page(struct backfill *backfill, int64_t time)
{
	openmetrics_page(&backfill->metrics, backfill->setup.registry, time);
	backfill->failed |= !tool_write("backfill", &backfill->out);
	backfill->out.size = 0;
}

/* Before a record counts: a page for each step that has passed. */
static void on_time(void *context, int64_t time)
{
	struct backfill *backfill = context;

	if (time == RECORD_NO_TIME || backfill->failed) {
		return;
	}
	if (backfill->next == RECORD_NO_TIME) {
		backfill->next = time - time % backfill->step;
	}
	if (time > backfill->next &&
	    ((uint64_t)time - (uint64_t)backfill->next) / (uint64_t)backfill->step > STEPS_MOST) {
		write_page(backfill, backfill->next);
		backfill->next = time - time % backfill->step;
	}
	while (backfill->next <= time && !backfill->failed) {
		write_page(backfill, backfill->next);
		backfill->next += backfill->step;
	}
}

static bool write_end(struct backfill *backfill)
{
	if (backfill->next != RECORD_NO_TIME && !backfill->failed) {
		write_page(backfill, backfill->next);
	}
	text_add_string(&backfill->out, "# EOF\n");
	return !backfill->failed && tool_write("backfill", &backfill->out);
}

/* ---- the replay ---- */

static bool set_up_and_replay(struct backfill *backfill, struct request *request, struct error *err)
{
	const struct setup_options setup = { .manifests = &request->arguments.manifests };
	const struct runner_options replay = {
		.setup = &backfill->setup,
		.paths = request->arguments.words,
		.path_count = 1,
		.file = { .pointer_size = request->arguments.pointer_size },
		.on_time = on_time,
		.time_context = backfill,
	};
	bool open = setup_open(&backfill->setup, setup_config(request->config, err), &setup, err);
	struct runner *runner = open ? runner_new(&replay, err) : NULL;
	struct health *health = runner ? health_new(&backfill->setup, runner, err) : NULL;
	bool good = health && runner_run(runner, err);

	if (good && !write_end(backfill)) {
		good = error_set(err, ERROR_SYSTEM, "the samples could not be written");
	}
	health_free(health);
	runner_free(runner);
	setup_close(&backfill->setup);
	return good;
}

static int run(struct tool_arguments *arguments)
{
	struct request *request = (struct request *)arguments;
	uint64_t step_ms = request->step_ms ? request->step_ms : STEP_DEFAULT_MS;
	struct backfill backfill = { .step = (int64_t)step_ms * TICKS_PER_MS,
				     .next = RECORD_NO_TIME };
	const char *job = request->job ? request->job : "etw";
	const char *instance = request->instance ? request->instance :
						   os_path_name(arguments->words[0]);
	struct error err = { 0 };
	int status = TOOL_DONE;

	if (!openmetrics_init(&backfill.metrics, &backfill.out, job, instance)) {
		error_set(&err, ERROR_NO_MEMORY, "no memory for labels");
		status = TOOL_FAILED;
	} else if (!set_up_and_replay(&backfill, request, &err)) {
		status = err.code == ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
	}
	if (status != TOOL_DONE && !backfill.failed) {
		tool_complain(status, "backfill", "%s", err.text);
	}
	openmetrics_done(&backfill.metrics);
	text_free(&backfill.out);
	return status;
}

const struct tool_command tool_backfill = {
	.name = "backfill",
	.synopsis = "FILE [OPTIONS] >samples.om",
	.about = "A recording as samples at its own date, for a Prometheus",
	.more = "Then: promtool tsdb create-blocks-from openmetrics samples.om DATA, and a Prometheus with\n"
		"--storage.tsdb.path=DATA --storage.tsdb.retention.time=100y.\n",
	.options = option_rows,
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.words_most = 1,
	.size = sizeof(struct request),
	.run = run,
};
