/* SPDX-License-Identifier: MIT */
/*
 * etwtool backfill: what Prometheus would have scraped while a recording was made, as OpenMetrics
 * with timestamps.
 *
 * The recording is replayed as the exporter does it. Whenever the recorded time passes a multiple
 * of the step, the page of that moment is written.
 */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "health.h"
#include "replay.h"
#include "tool/openmetrics.h"
#include "tool/tool.h"

enum {
	FLAG_STEP,
	FLAG_CONFIG,
	FLAG_JOB,
	FLAG_INSTANCE,
	STEP_DEFAULT_MS = 15000,
	STEP_MOST_MS = 3600000,
	STEPS_MOST = 100000, /* without a record between them: then a clock was set */
	TICKS_PER_MS = 10000,
};

static const struct tool_flag flags[] = {
	[FLAG_STEP] = { "--step", "DURATION",
			"time between two samples: 500ms, 1s; 15s without it" },
	[FLAG_CONFIG] = { "--config", "FILE", "collectors and limits, as for the exporter" },
	[FLAG_JOB] = { "--job", "NAME", "label of every series; etw without it" },
	[FLAG_INSTANCE] = { "--instance", "NAME",
			    "label of every series; the file's name without it" },
	{ NULL, NULL, NULL },
};

struct backfill_options {
	const char *path, *config, *job, *instance;
	uint64_t step_ms;
	uint8_t pointer_size;
	struct configured_manifests *manifests; /* borrowed; those of the configuration are added */
};

struct backfill {
	struct registry *registry;
	struct openmetrics metrics;
	struct text out;
	int64_t step; /* 100 ns */
	int64_t next; /* time of the next page; RECORD_NO_TIME before the first record */
	bool failed;  /* standard output takes no more */
};

/* ---- pages ---- */

static void write_page(struct backfill *backfill, int64_t time)
{
	openmetrics_page(&backfill->metrics, backfill->registry, time);
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
	openmetrics_end(&backfill->metrics);
	return !backfill->failed && tool_write("backfill", &backfill->out);
}

/* ---- the replay ---- */

static bool replay_all(struct backfill *backfill, const struct backfill_options *options,
		       const struct config *config, const struct rule_set *rules, struct error *err)
{
	const struct replay_options replaying = {
		.paths = &options->path,
		.path_count = 1,
		.file = { .pointer_size = options->pointer_size },
		.on_time = on_time,
		.time_context = backfill,
		.registry = backfill->registry,
		.rules = rules,
		.config = config,
		.manifests = *options->manifests,
	};
	struct replay *replay = replay_new(&replaying, err);
	struct health *health = replay ? health_new(backfill->registry, replay, rules, err) : NULL;
	bool good = health && replay_run(replay, err);

	if (good && !write_end(backfill)) {
		good = error_set(err, ERROR_SYSTEM, "the samples could not be written");
	}
	health_free(health);
	replay_free(replay);
	return good;
}

static bool set_up_and_replay(struct backfill *backfill, const struct backfill_options *options,
			      struct error *err)
{
	struct config *config = options->config ? config_load(options->config, err) :
						  config_default(err);
	struct registry_limits limits = { 0 };
	struct rule_set_options rule_options = { .config = config };
	struct rule_set *rules = NULL;
	bool good = false;

	if (config) {
		limits = (struct registry_limits){
			.series_per_family = config->limits.series_per_family,
			.series = config->limits.series,
			.strings_bytes = config->limits.strings_bytes,
		};
		backfill->registry = registry_new(&limits, err);
	}
	if (backfill->registry && configured_manifests_load(options->manifests, config, err)) {
		rule_options.manifests = *options->manifests;
		rules = rule_set_new(&rule_options, backfill->registry, err);
	}
	if (rules) {
		good = replay_all(backfill, options, config, rules, err);
	}
	rule_set_free(rules);
	registry_free(backfill->registry);
	config_free(config);
	return good;
}

static const char *file_name(const char *path)
{
	const char *name = path;

	for (; *path; path++) {
		if (*path == '/' || *path == '\\') {
			name = path + 1;
		}
	}
	return name;
}

static int backfill(const struct backfill_options *options)
{
	struct backfill backfill = { .step = (int64_t)options->step_ms * TICKS_PER_MS,
				     .next = RECORD_NO_TIME };
	const char *instance = options->instance ? options->instance : file_name(options->path);
	struct error err = { 0 };
	int status = TOOL_DONE;

	if (!openmetrics_init(&backfill.metrics, &backfill.out, options->job, instance)) {
		error_set(&err, ERROR_NO_MEMORY, "no memory for labels");
		status = TOOL_FAILED;
	} else if (!set_up_and_replay(&backfill, options, &err)) {
		status = err.code == ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
	}
	if (status != TOOL_DONE && !backfill.failed) {
		tool_complain(status, "backfill", "%s", err.text);
	}
	openmetrics_done(&backfill.metrics);
	text_free(&backfill.out);
	return status;
}

/* ---- the command ---- */

static bool take_step(const char *value, uint64_t *step_ms)
{
	if (parse_duration(value, strlen(value), step_ms) && *step_ms > 0 &&
	    *step_ms <= STEP_MOST_MS) {
		return true;
	}
	tool_complain(TOOL_BAD_USAGE, "backfill",
		      "--step: wants a duration from 1ms to 1h, not \"%s\"", value);
	return false;
}

static int run(struct tool_arguments *arguments)
{
	struct backfill_options options = { .job = "etw",
					    .step_ms = STEP_DEFAULT_MS,
					    .manifests = &arguments->manifests };
	const char *value;
	int flag;

	while ((flag = tool_next(arguments, &value)) != TOOL_END) {
		bool good = true;

		switch (flag) {
		case FLAG_STEP:
			good = take_step(value, &options.step_ms);
			break;
		case FLAG_CONFIG:
			options.config = value;
			break;
		case FLAG_JOB:
			options.job = value;
			break;
		case FLAG_INSTANCE:
			options.instance = value;
			break;
		default:
			return arguments->status;
		}
		if (!good) {
			return TOOL_BAD_USAGE;
		}
	}
	if (!arguments->path) {
		return tool_complain(TOOL_BAD_USAGE, "backfill", "which recording?");
	}
	options.path = arguments->path;
	options.pointer_size = arguments->pointer_size;
	return backfill(&options);
}

const struct tool_command tool_backfill = {
	.name = "backfill",
	.synopsis = "FILE [OPTIONS] >samples.om",
	.about = "A recording as samples at its own date, for a Prometheus",
	.more = "Then: promtool tsdb create-blocks-from openmetrics samples.om DATA, and a Prometheus with\n"
		"--storage.tsdb.path=DATA --storage.tsdb.retention.time=100y.\n",
	.flags = flags,
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA,
	.run = run,
};
