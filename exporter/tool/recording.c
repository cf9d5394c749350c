/* SPDX-License-Identifier: MIT */
/*
 * A recording of the tool has the set-up and the pipeline of the exporter, with an observer that
 * sees each kind and each record after the rules. Without a configuration no collector is on and no
 * manifest is read besides those of the command line, so that the tool shows what the recording
 * itself says. With a configuration its collectors run as in the exporter, and a dry run notes what
 * each rule does. The pipeline of the last run stays until the next one, because commands keep
 * pointers to its kinds.
 */
#include "tool/recording.h"

#include <stdlib.h>

#include "etl/source_file.h"
#include "pipeline.h"
#include "setup.h"

struct recording {
	struct recording_options options;
	struct source *source;
	struct setup setup;
	struct dry_run *dry_run;
	struct shard *shard;       /* the registry's */
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

/* The collectors of the configuration that is tried, or none. */
static bool set_up(struct recording *recording, struct error *err)
{
	const char *path = recording->options.config_path;
	const struct setup_options options = { .disable_defaults = !path,
					       .no_manifests = !path,
					       .manifests = recording->options.manifests };

	if (!setup_open(&recording->setup, setup_config(path, err), &options, err)) {
		return false;
	}
	if (path) {
		recording->dry_run = dry_run_new(recording->setup.rules, err);
		recording->observer.dry_run = recording->dry_run;
		return recording->dry_run != NULL;
	}
	return true;
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
	if (!recording->source || !set_up(recording, err)) {
		goto fail;
	}
	recording->shard = registry_shard(recording->setup.registry, false, err);
	if (!recording->shard) {
		goto fail;
	}
	rule_set_make_samples(recording->setup.rules, recording->setup.registry, recording->shard);
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
	dry_run_free(recording->dry_run);
	setup_close(&recording->setup);
	source_close(recording->source);
	free(recording);
}

bool recording_run(struct recording *recording, struct error *err)
{
	const struct pipeline_options options = {
		.setup = &recording->setup,
		.source = recording->source,
		.session = source_facts(recording->source)->name,
		.shard = recording->shard,
		.observer = &recording->observer,
	};
	bool done;

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

struct dry_run *recording_dry_run(const struct recording *recording)
{
	return recording->dry_run;
}

struct registry *recording_registry(const struct recording *recording)
{
	return recording->setup.registry;
}

const char *recording_process(const struct recording *recording, struct tracker *tracker,
			      uint32_t *process_id)
{
	const struct intern *strings = registry_strings(recording->setup.registry);
	uint32_t id;

	*process_id = RECORD_NO_ID;
	id = tracker_process(tracker, process_id);
	return id == INTERN_FULL ? "_other" : intern_text(strings, id, NULL);
}

void recording_statistics(const struct recording *recording, struct source_statistics *statistics)
{
	source_statistics(recording->source, statistics);
}
