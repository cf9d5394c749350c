/* SPDX-License-Identifier: MIT */
/*
 * A recording of the tool has the set-up and the pipeline of the exporter. An observer sees each
 * event class, and each record after the rules.
 *
 * Without a configuration no collector is on, and no manifest is read except those of the command
 * line, so that the tool shows what the recording itself says. With a configuration its collectors
 * run as in the exporter, and a dry run notes what each rule does. The pipeline makes two passes
 * over the file: the first collects schemas and names, the second delivers the records. The
 * pipeline of the last run stays until the next one, because commands keep pointers to its event
 * classes.
 */
#include "etwtool/recording.h"

#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>

#include "exporter/setup.h"

struct recording {
	const struct tool_arguments *arguments;
	struct recording_options options;
	struct etw_source *source;
	struct setup setup;
	struct dry_run *dry_run;
	struct shard *shard;       /* owned by the registry */
	struct pipeline *pipeline; /* pipeline of the last run */
	struct pipeline_observer observer;
	struct tracker *tracker;   /* owned by the pipeline; describes the shown record */
	struct record_times times; /* times of the last run */
	struct progress progress;
	bool warned; /* warned about damage */
};

/*
 * Returns whether the paths differ only by numbers: a shell may have expanded one pattern to both.
 */
static bool differ_by_number(const char *a, const char *b)
{
	static const char digits[] = "0123456789";
	bool differ = false;

	while (*a && *b) {
		size_t x = strspn(a, digits), y = strspn(b, digits);

		if (x == 0 || y == 0) {
			if (*a++ != *b++) {
				return false;
			}
			continue;
		}
		differ = differ || x != y || strncmp(a, b, x) != 0;
		a += x;
		b += y;
	}
	return *a == *b && differ;
}

bool recording_refuse_second(const char *first, const char *second, struct etw_error *err)
{
	return error_set(err, ETW_ERROR_CONFIG, "one recording at a time, not also \"%s\"%s",
			 second,
			 differ_by_number(first, second) ?
				 "; for the files of one recording write * in place of the number, "
				 "in quotes" :
				 "");
}

static void add_time(struct record_times *times, int64_t time)
{
	times->records++;
	if (time == ETW_RECORD_NO_TIME) {
		return;
	}
	if (times->first == ETW_RECORD_NO_TIME || time < times->first) {
		times->first = time;
	}
	if (times->last == ETW_RECORD_NO_TIME || time > times->last) {
		times->last = time;
	}
}

void record_times_add(struct record_times *times, const struct etw_record *record)
{
	add_time(times, record->time);
}

double record_times_seconds(const struct record_times *times)
{
	return times->first == ETW_RECORD_NO_TIME ?
		       0 :
		       (double)etw_time_between(times->first, times->last) / 1e7;
}

bool collector_switches_read(void *switches, const char *argument, struct etw_error *err)
{
	struct collector_switches *given = switches;

	return setup_add_switch(&given->rows, &given->count, argument, err);
}

void collector_switches_done(struct collector_switches *switches)
{
	for (size_t i = 0; i < switches->count; i++) {
		free(switches->rows[i].collector);
	}
	free(switches->rows);
	*switches = (struct collector_switches){ .rows = NULL };
}

bool tool_use_builtin(struct tool_arguments *arguments)
{
	struct etw_error err;

	if (!arguments->no_builtin &&
	    !etw_configured_manifests_add_builtin(&arguments->manifests, &err)) {
		tool_complain(TOOL_FAILED, arguments->command->name, "%s", err.text);
		return false;
	}
	return true;
}

static void on_class(void *context, const struct etw_event_class *class)
{
	struct recording *recording = context;

	if (recording->options.on_class) {
		recording->options.on_class(recording->options.context, class);
	}
}

static void on_record(void *context, const struct etw_record *record,
		      const struct etw_event_class *class, struct tracker *tracker)
{
	struct recording *recording = context;

	if (recording->options.on_record) {
		recording->tracker = tracker;
		recording->options.on_record(recording->options.context, recording, record, class);
	}
}

static void on_left_out(void *context, const struct etw_record *record)
{
	struct recording *recording = context;

	if (recording->options.on_left_out) {
		recording->options.on_left_out(recording->options.context, record);
	}
}

static void on_time(void *context, int64_t time)
{
	struct recording *recording = context;

	add_time(&recording->times, time);
}

static void on_buffer(void *context)
{
	struct recording *recording = context;
	struct etw_source_statistics statistics;

	if (recording->progress.watched) {
		etw_source_statistics(recording->source, &statistics);
		progress_show(&recording->progress, statistics.bytes_read, statistics.bytes_total,
			      0, statistics.bytes_total);
	}
}

/* Returns the configuration of the collectors, or one that only gives processes their names. */
static struct config *read_config(const struct recording *recording, struct etw_error *err)
{
	const struct recording_options *given = &recording->options;
	struct config *config;

	if (given->config_path || !recording->arguments->names_config) {
		return given->collector_too ?
			       config_load_or_collector(given->config_path, given->problems, err) :
			       setup_config(given->config_path, given->problems, err);
	}
	config = setup_config(recording->arguments->names_config, NULL, err);
	if (config) {
		config->switch_count = 0;
	}
	return config;
}

/* Sets up the collectors of the configuration, or none. */
static bool set_up(struct recording *recording, struct etw_configured_manifests *manifests,
		   struct etw_error *err)
{
	const struct recording_options *given = &recording->options;
	bool collectors = given->collectors || given->config_path;
	const struct setup_options options = {
		.disable_defaults = !collectors,
		.no_manifests = !collectors,
		.manifests = manifests,
		.every_collector = given->every_collector,
		.live = given->live,
		.switches = given->switches ? given->switches->rows : NULL,
		.switch_count = given->switches ? given->switches->count : 0,
	};

	if (!setup_open(&recording->setup, read_config(recording, err), &options, err)) {
		return false;
	}
	if (collectors) {
		recording->dry_run = dry_run_new(recording->setup.rules, err);
		recording->observer.dry_run = recording->dry_run;
		return recording->dry_run != NULL;
	}
	return true;
}

struct recording *recording_open(struct tool_arguments *arguments, const char *path,
				 const struct recording_options *options, struct etw_error *err)
{
	const struct etw_source_file_options file = { .pointer_size = arguments->pointer_size,
						      .paths = options->paths,
						      .path_count = options->path_count };
	struct recording *recording = calloc(1, sizeof *recording);

	if (!recording) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	recording->arguments = arguments;
	recording->options = *options;
	recording->observer =
		(struct pipeline_observer){ .context = recording,
					    .on_class = on_class,
					    .on_record = on_record,
					    .on_left_out = on_left_out,
					    .on_buffer = on_buffer,
					    .probe = options->probe,
					    .features = options->derived ? derived_features() : 0 };
	recording->source = etw_source_open_file(path, &file, err);
	if (!recording->source || !set_up(recording, &arguments->manifests, err)) {
		goto fail;
	}
	recording->shard = registry_shard(recording->setup.registry, false, err);
	if (!recording->shard) {
		goto fail;
	}
	rule_set_make_samples(recording->setup.rules, recording->setup.registry);
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
	etw_source_close(recording->source);
	free(recording);
}

static void warn_of_damage(struct recording *recording)
{
	const char *command = recording->arguments->command->name;
	struct etw_source_statistics statistics;

	if (recording->warned) {
		return;
	}
	recording->warned = true;
	etw_source_statistics(recording->source, &statistics);
	if (etw_source_facts(recording->source)->doubt) {
		tool_complain(TOOL_DONE, command, "warning: %s",
			      etw_source_facts(recording->source)->doubt);
	}
	if (statistics.truncated) {
		tool_complain(TOOL_DONE, command,
			      "warning: the recording " ETW_RECORDING_CUT_SHORT);
	}
	if (statistics.bad_buffers > 0 || statistics.bad_records > 0) {
		struct etw_text damage = { 0 };

		text_add_damage(&damage, &statistics);
		tool_complain(TOOL_DONE, command,
			      "warning: the recording " ETW_RECORDING_DAMAGED ": %s",
			      damage.data ? damage.data : "");
		text_free(&damage);
	}
}

bool recording_run(struct recording *recording, struct etw_error *err)
{
	const struct pipeline_options options = {
		.setup = &recording->setup,
		.source = recording->source,
		.session = etw_source_facts(recording->source)->name,
		.shard = recording->shard,
		.observer = &recording->observer,
		.on_time = on_time,
		.time_context = recording,
	};
	bool done;

	recording->times = RECORD_TIMES_NONE;
	pipeline_free(recording->pipeline);
	recording->pipeline = pipeline_new(&options, err);
	if (!recording->pipeline) {
		return false;
	}
	progress_start(&recording->progress, "etwtool", recording->arguments->command->name,
		       recording->arguments->command->output);
	done = pipeline_run(recording->pipeline, err);
	progress_end(&recording->progress);
	if (!done) {
		return error_prefix(err, "%s", etw_source_facts(recording->source)->name);
	}
	warn_of_damage(recording);
	return true;
}

void recording_stop(struct recording *recording)
{
	etw_source_stop(recording->source);
}

struct recording *recording_read(struct tool_arguments *arguments,
				 const struct recording_options *options)
{
	struct etw_error err = { 0 };
	struct recording *recording = NULL;

	if (etw_configured_manifests_add_builtin(&arguments->manifests, &err)) {
		recording = recording_open(arguments, arguments->words[0], options, &err);
	}
	if (!recording || !recording_run(recording, &err)) {
		tool_complain(TOOL_FAILED, arguments->command->name, "%s", err.text);
		recording_close(recording);
		return NULL;
	}
	return recording;
}

const struct record_times *recording_times(const struct recording *recording)
{
	return &recording->times;
}

void recording_statistics(const struct recording *recording,
			  struct etw_source_statistics *statistics)
{
	etw_source_statistics(recording->source, statistics);
}

static const char *label_text(struct registry *registry, uint32_t id)
{
	const struct intern *strings = registry_strings(registry);

	return id == INTERN_FULL ? "_other" : intern_text(strings, id, NULL);
}

struct each_process {
	const struct recording *recording;
	void (*visit)(void *context, uint32_t process_id, const char *name, const char *image);
	void *context;
};

static void visit_process(void *context, uint32_t process_id, uint32_t name, uint32_t image)
{
	const struct each_process *each = context;
	struct registry *registry = each->recording->setup.registry;

	each->visit(each->context, process_id, label_text(registry, name),
		    label_text(registry, image));
}

void recording_each_process(const struct recording *recording,
			    void (*visit)(void *context, uint32_t process_id, const char *name,
					  const char *image),
			    void *context)
{
	struct each_process each = { recording, visit, context };

	pipeline_each_process(recording->pipeline, visit_process, &each);
}

/* Reads the payload field from which a derived field is computed. */
static bool read_origin(struct derived_read *read, const struct etw_schema *schema)
{
	int index = derived_origin(read->row, schema);
	struct etw_field_slice slice;

	if (index < 0 || !etw_field_locate(schema, (unsigned)index, read->record, &slice)) {
		return false;
	}
	read->number = etw_field_u64(&schema->fields[index], &slice);
	return true;
}

bool recording_derived(const struct recording *recording, const struct derived_field *row,
		       const struct etw_record *record, const struct etw_event_class *class,
		       struct etw_text *out)
{
	struct derived_read read = { .row = row, .tracker = recording->tracker, .record = record };

	if ((row->reads_origin && !read_origin(&read, class->schema)) ||
	    row->read(&read) != DERIVED_FOUND) {
		return false;
	}
	switch (row->form) {
	case FORM_NUMBER:
		text_add_u64(out, read.number);
		return true;
	case FORM_ID:
		if (read.number == registry_none(recording->setup.registry) ||
		    read.number == registry_unknown(recording->setup.registry)) {
			return false;
		}
		text_add_string(out, label_text(recording->setup.registry, (uint32_t)read.number));
		return true;
	case FORM_TEXT:
		break;
	}
	if (row->field) {
		etw_field_text(row->field, &read.slice, out);
	} else {
		text_add_utf8_clean(out, (const char *)read.slice.at, read.slice.size);
	}
	return true;
}

const char *recording_process(const struct recording *recording, uint32_t *process_id)
{
	return record_process(recording->setup.registry, recording->tracker, process_id);
}

const char *record_process(struct registry *registry, struct tracker *tracker, uint32_t *process_id)
{
	*process_id = ETW_RECORD_NO_ID;
	return label_text(registry, tracker_process(tracker, process_id));
}

struct dry_run *recording_dry_run(const struct recording *recording)
{
	return recording->dry_run;
}

const struct setup *recording_setup(const struct recording *recording)
{
	return &recording->setup;
}

void recording_pipeline_statistics(const struct recording *recording,
				   struct pipeline_statistics *statistics)
{
	pipeline_statistics(recording->pipeline, statistics);
}

void recording_outcomes(const struct recording *recording, uint64_t outcomes[OUTCOME_COUNT])
{
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		outcomes[i] = 0;
	}
	pipeline_add_outcomes(recording->setup.registry, etw_source_facts(recording->source)->name,
			      outcomes);
}

struct registry *recording_registry(const struct recording *recording)
{
	return recording->setup.registry;
}
