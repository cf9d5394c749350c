/* SPDX-License-Identifier: MIT */
/*
 * etwtool backfill: writes what Prometheus would have scraped while a recording was made, as
 * OpenMetrics with timestamps. `promtool tsdb create-blocks-from openmetrics` makes blocks of it.
 *
 * The recording is replayed as the exporter does. Whenever the recorded time passes a multiple of
 * the step, the exposition of that moment is written. It is the exporter's own; each line gets the
 * labels of the target (job and instance) and a timestamp.
 *
 * A small recording can have many expositions, so their number is limited. Beyond the limit
 * backfill fails, without the "# EOF" that promtool requires, so that incomplete output is not
 * imported. page_series.h chooses the times.
 *
 * A family is repeated in every exposition; its HELP, TYPE and UNIT lines are written only the
 * first time. OpenMetrics requires that all samples of a family are together. promtool does not,
 * and that order would require the whole text in memory.
 *
 * Source: "OpenMetrics 1.0", prometheus.io; what promtool accepts was tried with version 2.42.
 */
#include <inttypes.h>
#include <string.h>

#include <etw/record.h>

#include "base/map.h"
#include "base/os.h"
#include "base/utc.h"
#include "config/problems.h"
#include "etwtool/page_series.h"
#include "etwtool/tool.h"
#include "exporter/health.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "metrics/exposition.h"
#include "metrics/registry.h"

enum {
	STEP_DEFAULT_MS = 15000,
	STEP_MOST_MS = 3600000,
	PAGES_DEFAULT = 100000, /* one day of 1 s steps, 17 days of 15 s steps */
	TICKS_PER_MS = 10000,
};

struct backfill_request {
	struct tool_arguments arguments;
	uint64_t step_ms; /* 0: STEP_DEFAULT_MS */
	uint64_t pages;   /* most expositions; 0: PAGES_DEFAULT */
	const char *config, *job, *instance;
	struct problems problems; /* problems of the configuration */
};

static bool read_step(void *step_ms, const char *value, struct etw_error *err)
{
	uint64_t *ms = step_ms;

	(void)err;
	return utc_parse_ms(value, ms) && *ms > 0 && *ms <= STEP_MOST_MS;
}

#define AT(member) .offset = offsetof(struct backfill_request, member)

static const struct command_option option_rows[] = {
	{ "--step", "DURATION", "time between two samples, such as 500ms or 5s; default 15s",
	  OPTION_READ, AT(step_ms), .takes = "a duration from 1ms to 1h", .read = read_step },
	{ "--pages", "N", "maximum number of samples of a series; default 100000", OPTION_COUNT,
	  AT(pages) },
	{ "--config.file", "FILE", "collectors and limits, as for the exporter", OPTION_TEXT,
	  AT(config) },
	{ "--config", "FILE", NULL, OPTION_TEXT, AT(config) },
	{ "--job", "NAME", "job label of every series; default etw", OPTION_TEXT, AT(job) },
	{ "--instance", "NAME", "instance label of every series; default the file's name",
	  OPTION_TEXT, AT(instance) },
	{ NULL },
};

struct backfill {
	struct setup setup;
	struct runner *runner; /* runs the replay */
	struct page_times times;
	uint64_t pages_left;
	bool full;   /* the limit of expositions was reached */
	bool failed; /* standard output cannot be written */

	/* The output. */
	struct etw_text target; /* `job="etw",instance="a.etl"`, added to every series */
	/* hashes of "# TYPE name" and similar line starts that are written */
	struct map families;
	struct map series;          /* hashes of names and labels of counters that are written */
	struct etw_text exposition; /* the exporter's exposition of one moment */
	struct etw_text out;        /* the same with target labels and timestamps */
	/* times of this exposition and the previous one, or ETW_RECORD_NO_TIME */
	int64_t time, previous;
	bool counter; /* the following samples are of a counter or histogram */
	bool left_out;
};

/* ---- OpenMetrics ---- */

/* Adds a time in seconds since 1970, to the millisecond, as Prometheus stores it. */
static void add_time(struct etw_text *out, int64_t time)
{
	uint64_t ms = etw_time_since_1970(time) / TICKS_PER_MS;

	text_add_format(out, " %" PRIu64 ".%03u\n", ms / 1000, (unsigned)(ms % 1000));
}

/* Returns whether a line, starting at the name, is about this run of the exporter itself. */
static bool is_left_out(const char *name)
{
	static const char *const starts[] = { "process_",
					      "etw_exporter_s",
					      "etw_exporter_build_info",
					      "etw_exporter_config_",
					      "etw_replay_",
					      "etw_consumer_busy_",
					      "etw_consumer_lag_" };

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (strncmp(name, starts[i], strlen(starts[i])) == 0) {
			return true;
		}
	}
	return false;
}

/* Adds a text to a set and returns whether it is new; true also without memory. */
static bool is_new(struct map *set, const char *text, size_t size)
{
	bool added = true;

	map_put(set, text_hash(text, size, hash_seed()), &added);
	return added;
}

/* Adds a line about a family: "# HELP name text", "# TYPE name type" or "# UNIT name unit". */
static void add_head(struct backfill *backfill, const char *line, size_t size)
{
	const char *name = line + strlen("# HELP ");
	const char *space = memchr(name, ' ', size - strlen("# HELP "));

	if (line[2] == 'H') {
		backfill->left_out = is_left_out(name);
	} else if (line[2] == 'T') {
		backfill->counter = space[1] != 'g'; /* a gauge */
	}
	if (!backfill->left_out && is_new(&backfill->families, line, (size_t)(space - line))) {
		text_add(&backfill->out, line, size);
		text_add_char(&backfill->out, '\n');
	}
}

/* Adds the series of a line; the target's labels come before its own. */
static void add_series(struct backfill *backfill, const char *series, size_t size)
{
	const char *brace = memchr(series, '{', size);
	size_t name_size = brace ? (size_t)(brace - series) : size;

	text_add(&backfill->out, series, name_size);
	text_add_char(&backfill->out, '{');
	text_add(&backfill->out, backfill->target.data, backfill->target.size);
	if (brace) {
		text_add_char(&backfill->out, ',');
		text_add(&backfill->out, brace + 1, size - name_size - 1);
	} else {
		text_add_char(&backfill->out, '}');
	}
}

static void add_sample(struct backfill *backfill, const char *line, size_t size)
{
	const char *value = line + size;
	size_t series;

	while (value[-1] != ' ') {
		value--;
	}
	series = (size_t)(value - 1 - line);
	if (backfill->counter && is_new(&backfill->series, line, series) &&
	    backfill->previous != ETW_RECORD_NO_TIME) {
		add_series(backfill, line, series);
		text_add_string(&backfill->out, " 0");
		add_time(&backfill->out, backfill->previous);
	}
	add_series(backfill, line, series);
	text_add_char(&backfill->out, ' ');
	text_add(&backfill->out, value, (size_t)(line + size - value));
	add_time(&backfill->out, backfill->time);
}

/*
 * Adds all samples of the registry with a timestamp (100 ns since 1601 UTC, later than that of the
 * previous exposition), and `up`. A counter that is new is also written as 0 at the previous
 * timestamp, because otherwise increase() would miss its first value. Samples about this run, not
 * about the time of the recording, are left out.
 */
static void write_page(struct backfill *backfill, int64_t time)
{
	const char *line, *end;

	backfill->previous = backfill->time;
	backfill->time = time;
	text_clear(&backfill->exposition);
	text_add_openmetrics(&backfill->exposition, backfill->setup.registry);
	for (line = backfill->exposition.data; line && (end = strchr(line, '\n')); line = end + 1) {
		if (strncmp(line, "# EOF\n", 6) == 0) {
			break;
		}
		if (line[0] == '#') {
			add_head(backfill, line, (size_t)(end - line));
		} else if (!backfill->left_out) {
			add_sample(backfill, line, (size_t)(end - line));
		}
	}
	backfill->left_out = false;
	backfill->counter = false;
	if (is_new(&backfill->families, "up", 2)) {
		text_add_string(&backfill->out,
				"# HELP up 1: this is a recording.\n# TYPE up gauge\n");
	}
	add_sample(backfill, "up 1", 4);
	backfill->out.failed |= backfill->exposition.failed;
	backfill->failed |= !tool_write("backfill", &backfill->out);
	backfill->out.size = 0;
}

/* ---- pages ---- */

/* Adds one exposition. Returns false, which ends the replay, if it cannot be written. */
static bool add_page(struct backfill *backfill, int64_t time)
{
	if (backfill->pages_left == 0) {
		backfill->full = true;
	} else if (!backfill->failed) {
		backfill->pages_left--;
		write_page(backfill, time);
	}
	if (backfill->full || backfill->failed) {
		runner_stop(backfill->runner);
		return false;
	}
	return true;
}

/* Called before a record is counted: adds an exposition for each step that has passed. */
static void on_time(void *context, int64_t time)
{
	struct backfill *backfill = context;
	int64_t page;

	while (!backfill->full && !backfill->failed &&
	       page_times_due(&backfill->times, time, &page) && add_page(backfill, page)) {
	}
}

static bool write_end(struct backfill *backfill, const struct backfill_request *request,
		      struct etw_error *err)
{
	if (backfill->times.next != 0 && !backfill->full) {
		add_page(backfill, backfill->times.next);
	}
	if (backfill->full) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "the recording needs more than %" PRIu64
				 " samples of a series: take a longer --step, or allow more with "
				 "--pages; the output is incomplete",
				 request->pages ? request->pages : PAGES_DEFAULT);
	}
	text_add_string(&backfill->out, "# EOF\n");
	if (backfill->failed || !tool_write("backfill", &backfill->out)) {
		return error_set(err, ETW_ERROR_SYSTEM, "the samples could not be written");
	}
	if (backfill->times.outside > 0) {
		tool_complain(TOOL_DONE, "backfill",
			      "warning: %" PRIu64
			      " records have a time before 1970 or after 9999; %s",
			      backfill->times.outside,
			      backfill->times.next != 0 ?
				      "they count at the time of the next page" :
				      "no record has another, so there are no samples");
	}
	return true;
}

/* ---- the replay ---- */

static bool set_up_and_replay(struct backfill *backfill, struct backfill_request *request,
			      struct etw_error *err)
{
	const struct setup_options setup = { .manifests = &request->arguments.manifests,
					     .switches = request->arguments.switches.rows,
					     .switch_count = request->arguments.switches.count };
	struct progress progress;
	const struct runner_options replay = {
		.setup = &backfill->setup,
		.paths = request->arguments.words,
		.path_count = 1,
		.file = { .pointer_size = request->arguments.pointer_size },
		.on_time = on_time,
		.time_context = backfill,
		.progress = &progress,
	};
	bool open = setup_open(&backfill->setup,
			       setup_config(request->config, &request->problems, err), &setup, err);
	struct runner *runner = open ? runner_new(&replay, err) : NULL;
	struct health *health = runner ? health_new(&backfill->setup, runner, err) : NULL;
	bool good;

	tool_show_problems("backfill", &request->problems);
	backfill->runner = runner;
	progress_start(&progress, "etwtool", tool_backfill.name, tool_backfill.output);
	good = health && runner_run(runner, err) && write_end(backfill, request, err);
	progress_end(&progress);
	health_free(health);
	runner_free(runner);
	setup_close(&backfill->setup);
	return good;
}

static int run(struct tool_arguments *arguments)
{
	struct backfill_request *request = (struct backfill_request *)arguments;
	uint64_t step_ms = request->step_ms ? request->step_ms : STEP_DEFAULT_MS;
	struct backfill backfill = { .times.step = (int64_t)step_ms * TICKS_PER_MS,
				     .pages_left = request->pages ? request->pages : PAGES_DEFAULT,
				     .time = ETW_RECORD_NO_TIME };
	const char *job = request->job ? request->job : "etw";
	const char *instance = request->instance ? request->instance :
						   os_path_name(arguments->words[0]);
	struct etw_error err = { 0 };
	int status = TOOL_DONE;

	text_add_string(&backfill.target, "job=\"");
	text_add_label_value(&backfill.target, job, strlen(job));
	text_add_string(&backfill.target, "\",instance=\"");
	text_add_label_value(&backfill.target, instance, strlen(instance));
	text_add_string(&backfill.target, "\"");
	if (backfill.target.failed) {
		error_no_memory(&err, "labels");
		status = TOOL_FAILED;
	} else if (!set_up_and_replay(&backfill, request, &err)) {
		status = err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
	}
	if (status != TOOL_DONE && !backfill.failed &&
	    (request->problems.errors == 0 || err.code != ETW_ERROR_CONFIG)) {
		tool_complain(status, "backfill", "%s", err.text);
	}
	problems_done(&request->problems);
	text_free(&backfill.target);
	text_free(&backfill.exposition);
	text_free(&backfill.out);
	map_done(&backfill.families);
	map_done(&backfill.series);
	return status;
}

const struct tool_command tool_backfill = {
	.name = "backfill",
	.synopsis = "FILE >samples.om",
	.about = "Convert a recording to OpenMetrics samples with its own timestamps",
	.more = "Next: promtool tsdb create-blocks-from openmetrics samples.om DATA, then start Prometheus\n"
		"with --storage.tsdb.path=DATA --storage.tsdb.retention.time=100y.\n"
		"\n"
		"Where nothing was recorded for more than 5 minutes there are no samples, as if the exporter\n"
		"had been stopped. Incomplete output has no \"# EOF\" at its end, and promtool refuses it.\n",
	.options = option_rows,
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_COLLECTORS,
	.words_most = 1,
	.output = OUTPUT_STREAMS,
	.size = sizeof(struct backfill_request),
	.run = run,
};
