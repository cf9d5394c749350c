/* SPDX-License-Identifier: MIT */
/*
 * The flow of an event, read from the bottom up: a source delivers to the sink, the kind of the
 * record is looked up (and everything about it worked out when it is new), the tracker remembers
 * what the record says, the rules count it.
 */
#include "pipeline.h"

#include <stdlib.h>

#include "base/log.h"
#include "late_records.h"
#include "source/kernel_group.h"

/* Kinds of events that one consumer remembers; real machines have a few thousand. */
enum { KINDS_MAX = 32768, LATE_KINDS_MAX = 64 };

struct pipeline {
	struct pipeline_options options;
	struct pipeline_families families;
	struct trace_schemas *schemas;
	struct told_schemas *told; /* in a pass that nothing was looked at ahead of */
	struct schema_origins origins;
	/*
	 * Two tables of kinds, one a pass: what a kind is called can depend on records that only
	 * the look-ahead finds. The statistics show the second one, whose kinds have plans.
	 */
	struct kinds *ahead;
	struct kinds *kinds;
	struct kernel_choice ahead_at; /* the kernel records that a look-ahead is about */
	struct late_records late;      /* of the look-ahead that is under way */
	struct tracker *tracker;
	struct rule_engine *engine;
	uint32_t session; /* label id */
	struct pipeline_cells cells;
	bool schemas_known; /* an earlier pass has collected them */
	bool top_paths;     /* somebody asks for them */
	bool awaits_names;  /* of processes that a live session found */
	bool failed;        /* no memory for a kind: the pass is stopped and reported */
};

static void release_kind(void *context, struct event_kind *kind)
{
	(void)context;
	tracker_release(kind);
	rule_engine_release(kind);
}

static void free_kinds(struct kinds *kinds)
{
	if (kinds) {
		kinds_each(kinds, release_kind, NULL);
		kinds_free(kinds);
	}
}

static void stop_without_memory(struct pipeline *pipeline)
{
	pipeline->failed = true;
	source_stop(pipeline->options.source);
}

/* ---- first pass: what the recording tells about itself, in file order ---- */

static void on_look_ahead(void *context, const struct event_record *record)
{
	struct pipeline *pipeline = context;
	struct event_kind *kind;
	bool added;

	if (!pipeline->schemas_known) {
		trace_schemas_look(pipeline->schemas, record);
	}
	if (tracker_skips_ahead(record)) {
		return;
	}
	kind = kinds_find(pipeline->ahead, record, &added);
	if (!kind) {
		stop_without_memory(pipeline);
		return;
	}
	if (added) {
		tracker_release(kind);
		if (!tracker_prepare(pipeline->tracker, kind)) {
			stop_without_memory(pipeline);
			return;
		}
	}
	if (tracker_look_ahead(pipeline->tracker, record, kind)) {
		late_records_keep(&pipeline->late, record);
	}
}

/* Records whose schema may have come after them, now that all schemas are known. */
static void show_late_records(struct pipeline *pipeline)
{
	struct kinds *kinds = NULL;

	if (pipeline->late.count > 0) {
		kinds = kinds_new(LATE_KINDS_MAX, &pipeline->origins, NULL);
		if (!kinds) {
			stop_without_memory(pipeline);
		}
	}
	for (size_t i = 0; kinds && i < pipeline->late.count; i++) {
		struct event_record record = late_records_at(&pipeline->late, i);
		bool added;
		struct event_kind *kind = kinds_find(kinds, &record, &added);

		if (!kind || (added && !tracker_prepare(pipeline->tracker, kind))) {
			stop_without_memory(pipeline);
			break;
		}
		tracker_look_ahead(pipeline->tracker, &record, kind);
	}
	free_kinds(kinds);
	late_records_done(&pipeline->late);
}

static void on_look_ahead_end(void *context)
{
	struct pipeline *pipeline = context;

	if (!pipeline->schemas_known) {
		trace_schemas_finish(pipeline->schemas);
		pipeline->schemas_known = true;
	}
	show_late_records(pipeline);
	tracker_look_ahead_end(pipeline->tracker);
	if (pipeline->options.on_ready) {
		pipeline->options.on_ready(pipeline->options.ready_context);
	}
}

/* ---- second pass: everything, in time order ---- */

static void on_forget(void *context, uint32_t teller)
{
	struct pipeline *pipeline = context;

	kinds_forget(pipeline->kinds, teller, release_kind, NULL);
}

/* What the record tells about its provider. It comes only once: nothing was looked at ahead. */
static void learn(struct pipeline *pipeline, const struct event_record *record)
{
	const char *name;

	if (record->extended) {
		trace_schemas_look_at_name(pipeline->schemas, record);
	}
	name = told_schemas_look(pipeline->told, record);
	if (name) {
		trace_schemas_claim_name(pipeline->schemas, record->provider, name);
	}
}

static bool prepare_kind(struct pipeline *pipeline, struct event_kind *kind)
{
	release_kind(NULL, kind);
	kind->lost = pipeline_lost_cell(&pipeline->cells, kind);
	if (pipeline->options.observer) {
		pipeline->options.observer->on_kind(pipeline->options.observer->context, kind);
	}
	return tracker_prepare(pipeline->tracker, kind) &&
	       rule_engine_prepare(pipeline->engine, kind);
}

/* The cell of etw_consumer_events_total for the kind's provider. */
static cell *provider_cell(struct pipeline *pipeline, struct event_kind *kind)
{
	uint32_t provider =
		intern_string(registry_strings(pipeline->options.registry), kind->provider_name);
	uint32_t labels[] = { pipeline->session, provider };
	bool folded;
	cell *at =
		family_cells(pipeline->families.events, pipeline->options.writer, labels, &folded);

	if (!folded) {
		kind->records = at;
	}
	return at;
}

static void show(struct pipeline *pipeline, const struct event_record *record,
		 const struct event_kind *kind)
{
	const struct pipeline_observer *observer = pipeline->options.observer;

	if (!observer->probe || rule_engine_probe(pipeline->engine, record, kind)) {
		observer->on_record(observer->context, record, kind, pipeline->tracker);
	}
}

static void on_event(void *context, const struct event_record *record)
{
	struct pipeline *pipeline = context;
	struct event_kind *kind;
	enum record_outcome outcome;
	cell *events;
	bool added;

	if (pipeline->options.pace && !pace_wait(pipeline->options.pace, record->time)) {
		return; /* stopped: the record is not counted, nor is it delivered */
	}
	if (pipeline->options.on_time) {
		pipeline->options.on_time(pipeline->options.time_context, record->time);
	}
	if (!pipeline->schemas_known) {
		learn(pipeline, record);
	}
	kind = kinds_find(pipeline->kinds, record, &added);
	if (!kind || (added && !prepare_kind(pipeline, kind))) {
		stop_without_memory(pipeline);
		return;
	}
	events = kind->records ? kind->records : provider_cell(pipeline, kind);
	if (events) {
		cell_add(events, 1);
	}
	if (kind->lost) {
		cell_add(kind->lost, 1);
	}
	tracker_observe(pipeline->tracker, record, kind);
	outcome = rule_engine_apply(pipeline->engine, record, kind);
	cell_add(pipeline->cells.outcomes[outcome], 1);
	if (pipeline->top_paths && outcome != OUTCOME_FILTERED) {
		tracker_count(pipeline->tracker);
	}
	if (pipeline->options.observer) {
		show(pipeline, record, kind);
	}
}

/* ---- what only live sessions tell ---- */

static void on_restart(void *context)
{
	pipeline_reset(context);
}

static void on_process(void *context, uint32_t process_id, const char *name, size_t size)
{
	struct pipeline *pipeline = context;

	tracker_name_process(pipeline->tracker, process_id, name, size);
}

static void on_thread(void *context, uint32_t thread_id, uint32_t process_id)
{
	struct pipeline *pipeline = context;

	tracker_own_thread(pipeline->tracker, thread_id, process_id);
}

static void on_volume(void *context, const char *nt_path, const char *dos_path)
{
	struct pipeline *pipeline = context;

	tracker_map_volume(pipeline->tracker, nt_path, dos_path);
}

static void on_snapshot_end(void *context)
{
	struct pipeline *pipeline = context;

	pipeline->awaits_names = true;
	if (pipeline->options.on_snapshot) {
		pipeline->options.on_snapshot(pipeline->options.snapshot_context);
	}
}

static void on_buffer(void *context)
{
	struct pipeline *pipeline = context;

	if (pipeline->options.observer) {
		pipeline->options.observer->on_buffer(pipeline->options.observer->context);
	}
	if (pipeline->awaits_names && tracker_unseen_processes(pipeline->tracker) == 0) {
		pipeline->awaits_names = false;
		if (pipeline->options.on_ready) {
			pipeline->options.on_ready(pipeline->options.ready_context);
		}
	}
}

bool pipeline_run(struct pipeline *pipeline, struct error *err)
{
	const struct event_sink sink = {
		.context = pipeline,
		.on_look_ahead = on_look_ahead,
		.look_ahead_at = &pipeline->ahead_at,
		.on_look_ahead_end = on_look_ahead_end,
		.on_event = on_event,
		.on_buffer = on_buffer,
		.on_restart = on_restart,
		.on_process = on_process,
		.on_thread = on_thread,
		.on_volume = on_volume,
		.on_snapshot_end = on_snapshot_end,
	};
	bool done;

	if (pipeline->options.pace) {
		pace_start(pipeline->options.pace);
	}
	done = source_run(pipeline->options.source, &sink, err);
	kinds_settle(pipeline->kinds);
	tracker_end(pipeline->tracker);
	if (pipeline->failed) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for another kind of event");
	}
	return done;
}

void pipeline_reset(struct pipeline *pipeline)
{
	late_records_done(&pipeline->late); /* of a look-ahead that did not come to its end */
	tracker_reset(pipeline->tracker);
	rule_engine_reset(pipeline->engine);
}

/* ---- making and ending ---- */

static void on_misfit(void *context, const char *sentence)
{
	(void)context;
	log_warning("Rule does not apply to an event", log_text("rule", sentence));
}

static bool make_parts(struct pipeline *pipeline, struct error *err)
{
	const struct pipeline_options *options = &pipeline->options;
	const struct source_clock *clock = &source_facts(options->source)->clock;
	struct tracker_options tracker = {
		.registry = options->registry,
		.writer = options->writer,
		.clock = clock,
		.processes = options->config->limits.processes,
		.threads = options->config->limits.threads,
		.files = options->config->limits.files,
		.strings_bytes = options->config->limits.strings_bytes,
		.path_groups = options->config->path_groups,
		.path_group_count = options->config->path_group_count,
		.names = options->names,
		.process_gauges = rule_set_on(options->rules, "process"),
		.disk_info = rule_set_on(options->rules, "disk"),
		.image_info = rule_set_on(options->rules, "image"),
		.top_paths = rule_set_on(options->rules, "file_top"),
		.top_path_count = options->config->limits.top_paths,
	};
	struct rule_engine_options engine = {
		.set = options->rules,
		.registry = options->registry,
		.writer = options->writer,
		.clock = clock,
		.session = options->session,
		.names_only = options->names_only,
		.probe = options->observer ? options->observer->probe : NULL,
		.on_misfit = on_misfit,
		.trial = options->observer ? options->observer->trial : NULL,
	};
	struct rule_needs needs;

	rule_set_needs(options->rules, &needs);
	if (engine.probe) {
		probe_needs(engine.probe, &needs);
	}
	tracker.files_wanted = needs.files;
	tracker.requests_wanted = needs.requests;
	tracker.drivers_wanted = needs.drivers;
	tracker.scheduler_wanted = needs.scheduler;
	tracker.services_wanted = needs.services;
	pipeline->tracker = tracker_new(&tracker, err);
	if (!pipeline->tracker) {
		return false;
	}
	tracker_choose_ahead(pipeline->tracker, &pipeline->ahead_at);
	engine.tracker = pipeline->tracker;
	pipeline->top_paths = tracker.top_paths;
	pipeline->engine = rule_engine_new(&engine, err);
	pipeline->schemas = pipeline->engine ? trace_schemas_new(err) : NULL;
	pipeline->told = pipeline->schemas ? told_schemas_new(on_forget, pipeline, err) : NULL;
	pipeline->origins = (struct schema_origins){
		.live = options->live,
		.trace = pipeline->schemas,
		.told = pipeline->told,
		.configured = options->manifests.configured,
		.builtin = options->manifests.builtin,
		.builtin_names = true,
		.system = options->system,
	};
	pipeline->ahead = pipeline->told ? kinds_new(KINDS_MAX, NULL, err) : NULL;
	pipeline->kinds = pipeline->ahead ? kinds_new(KINDS_MAX, &pipeline->origins, err) : NULL;
	return pipeline->kinds != NULL;
}

struct pipeline *pipeline_new(const struct pipeline_options *options, struct error *err)
{
	struct pipeline *pipeline = calloc(1, sizeof *pipeline);

	if (!pipeline) {
		error_set(err, ERROR_NO_MEMORY, "no memory for a pipeline");
		return NULL;
	}
	pipeline->options = *options;
	pipeline->families = *options->families;
	pipeline->session = intern_string(registry_strings(options->registry), options->session);
	if (!pipeline_cells(options->families, options->registry, options->writer, options->session,
			    &pipeline->cells, err) ||
	    !make_parts(pipeline, err)) {
		goto fail;
	}
	return pipeline;

fail:
	pipeline_free(pipeline);
	return NULL;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline) {
		return;
	}
	free_kinds(pipeline->ahead);
	free_kinds(pipeline->kinds);
	late_records_done(&pipeline->late);
	told_schemas_free(pipeline->told);
	trace_schemas_free(pipeline->schemas);
	rule_engine_free(pipeline->engine);
	tracker_free(pipeline->tracker);
	free(pipeline);
}

void pipeline_statistics(const struct pipeline *pipeline, struct pipeline_statistics *statistics)
{
	static const enum tracker_table tables[ENGINE_TABLES] = {
		[ENGINE_PAIRS] = TABLE_PAIR,
		[ENGINE_GAUGES] = TABLE_GAUGE,
	};
	struct rule_engine_statistics engine;

	kinds_statistics(pipeline->kinds, &statistics->kinds);
	told_schemas_statistics(pipeline->told, &statistics->told);
	tracker_statistics(pipeline->tracker, &statistics->tracker);
	rule_engine_statistics(pipeline->engine, &engine);
	for (unsigned i = 0; i < ENGINE_TABLES; i++) {
		statistics->tracker.entries[tables[i]] = engine.entries[i];
		statistics->tracker.evictions[tables[i]] = engine.evictions[i];
	}
}
