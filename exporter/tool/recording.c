/* SPDX-License-Identifier: MIT */
#include "tool/recording.h"

#include <inttypes.h>
#include <stdlib.h>

#include "config/config.h"
#include "pipeline.h"
#include "tool/tool.h"
#include "track/names.h"
#include "etl/source_file.h"

struct recording {
	struct recording_options options;
	struct source *source;
	struct config *config;
	struct registry *registry;
	struct rule_set *rules;
	struct rule_trial *trial;
	struct shard *shard; /* the registry's */
	struct names *names;
	struct pipeline_families families;
	struct pipeline *pipeline; /* of the last run */
	struct pipeline_observer observer;
	struct progress progress;
	uint64_t bytes_before; /* at the last buffer; fewer now: the second pass */
	bool second_pass;
};

static void on_class(void *context, const struct event_class *class)
{
	struct recording *recording = context;

	if (recording->options.on_class) {
		recording->options.on_class(recording->options.context, class);
	}
}

static void on_record(void *context, const struct event_record *record,
		      const struct event_class *class, struct tracker *tracker)
{
	struct recording *recording = context;

	if (recording->options.on_record) {
		recording->options.on_record(recording->options.context, record, class, tracker);
	}
}

/* Two passes over the same bytes. */
static void on_buffer(void *context)
{
	struct recording *recording = context;
	struct source_statistics statistics;
	double share;

	if (!recording->progress.watched) {
		return;
	}
	source_statistics(recording->source, &statistics);
	recording->second_pass |= statistics.bytes_read < recording->bytes_before;
	recording->bytes_before = statistics.bytes_read;
	share = statistics.bytes_total ?
			(double)statistics.bytes_read / (double)statistics.bytes_total :
			1;
	progress_show(&recording->progress, (share + (recording->second_pass ? 1 : 0)) / 2);
}

/* Those of the configuration that is tried, or none. */
static bool make_rules(struct recording *recording, struct error *err)
{
	const char *path = recording->options.config_path;
	struct rule_set_options options = { .disable_defaults = !path };
	struct registry_limits limits = { 0 };

	recording->config = path ? config_load(path, err) : config_default(err);
	if (!recording->config) {
		return false;
	}
	if (path) {
		limits.series_per_family = recording->config->limits.series_per_family;
		limits.series = recording->config->limits.series;
		limits.strings_bytes = recording->config->limits.strings_bytes;
	}
	if (path && recording->options.manifests) {
		if (!configured_manifests_load(recording->options.manifests, recording->config,
					       err)) {
			return false;
		}
		options.manifests = *recording->options.manifests;
	}
	options.config = recording->config;
	recording->registry = registry_new(&limits, err);
	recording->rules = recording->registry ? rule_set_new(&options, recording->registry, err) :
						 NULL;
	if (path && recording->rules) {
		recording->trial = rule_trial_new(recording->rules, err);
		recording->observer.trial = recording->trial;
		return recording->trial != NULL;
	}
	return recording->rules != NULL;
}

struct recording *recording_open(const struct recording_options *options, struct error *err)
{
	const struct source_file_options file = { .pointer_size = options->pointer_size };
	struct recording *recording = calloc(1, sizeof *recording);

	if (!recording) {
		error_set(err, ERROR_NO_MEMORY, "no memory to open a recording");
		return NULL;
	}
	recording->options = *options;
	recording->observer = (struct pipeline_observer){ .context = recording,
							  .on_class = on_class,
							  .on_record = on_record,
							  .on_buffer = on_buffer,
							  .probe = options->probe };
	recording->source = source_open_file(options->path, &file, err);
	if (!recording->source || !make_rules(recording, err) ||
	    !pipeline_families(recording->registry, &recording->families, err)) {
		goto fail;
	}
	recording->shard = registry_shard(recording->registry, false, err);
	recording->names = recording->shard ?
				   names_new(recording->registry,
					     recording->config->limits.processes,
					     recording->config->lower_case_processes, err) :
				   NULL;
	if (!recording->names) {
		goto fail;
	}
	rule_set_make_samples(recording->rules, recording->registry, recording->shard);
	return recording;

fail:
	recording_close(recording);
	return NULL;
}

void recording_close(struct recording *recording)
{
	if (!recording) {
		return;
	}
	pipeline_free(recording->pipeline);
	names_free(recording->names);
	rule_trial_free(recording->trial);
	rule_set_free(recording->rules);
	registry_free(recording->registry);
	config_free(recording->config);
	source_close(recording->source);
	free(recording);
}

bool recording_run(struct recording *recording, struct error *err)
{
	struct pipeline_options options = {
		.source = recording->source,
		.session = source_facts(recording->source)->name,
		.registry = recording->registry,
		.shard = recording->shard,
		.families = &recording->families,
		.rules = recording->rules,
		.config = recording->config,
		.names = recording->names,
		.observer = &recording->observer,
	};
	bool done;

	if (recording->options.manifests) {
		options.manifests = *recording->options.manifests;
	}
	pipeline_free(recording->pipeline);
	recording->pipeline = pipeline_new(&options, err);
	if (!recording->pipeline) {
		return false;
	}
	recording->bytes_before = 0;
	recording->second_pass = false;
	progress_start(&recording->progress, recording->options.command);
	done = pipeline_run(recording->pipeline, err);
	progress_end(&recording->progress);
	return done;
}

void recording_stop(struct recording *recording)
{
	source_stop(recording->source);
}

struct rule_trial *recording_trial(const struct recording *recording)
{
	return recording->trial;
}

const struct rule_set *recording_rules(const struct recording *recording)
{
	return recording->rules;
}

struct registry *recording_registry(const struct recording *recording)
{
	return recording->registry;
}

const char *recording_text(const struct recording *recording, uint32_t id)
{
	return id == INTERN_FULL ? "_other" :
				   intern_text(registry_strings(recording->registry), id, NULL);
}

const char *recording_process(const struct recording *recording, struct tracker *tracker,
			      uint32_t *process_id)
{
	*process_id = RECORD_NO_ID;
	return recording_text(recording, tracker_process(tracker, process_id));
}

void recording_warn(const struct recording *recording)
{
	const char *command = recording->options.command;
	struct source_statistics statistics;

	source_statistics(recording->source, &statistics);
	if (statistics.truncated) {
		tool_complain(
			TOOL_DONE, command,
			"warning: the recording is cut short; everything up to there is read");
	}
	if (statistics.bad_buffers > 0 || statistics.bad_records > 0) {
		tool_complain(TOOL_DONE, command,
			      "warning: the recording is damaged: %" PRIu64 " buffers and %" PRIu64
			      " records are left out",
			      statistics.bad_buffers, statistics.bad_records);
	}
}
