/* SPDX-License-Identifier: MIT */
/*
 * A pipeline is what one consumer does with one source. Read the file from the bottom up: the
 * source delivers records to the sink of pipeline_run(), the event class of a record is looked up
 * (and everything about it is resolved when the class is new), the tracker remembers what the
 * record says, and the rules count it.
 *
 * A recording is read twice. The first pass, in file order, collects schemas and names, because a
 * recording often names a process only at its end. Records that cannot be decoded before all
 * schemas are known are copied, and shown to the tracker when the pass ends. The second pass, in
 * time order, counts. A live session and a pipe have no first pass; what their records announce is
 * learned on the way, and the processes that a live session finds at its start arrive by callbacks
 * of the sink.
 *
 * A reload gives the pipeline another set-up between two records: rules, schemas and the features
 * of the tracker. What the tracker knows stays, as do the counts. Event classes are resolved again
 * when their next record comes. Until then the pipeline uses the former set-up, which is freed when
 * every consumer has reported that it uses the next one.
 *
 * The per-event path takes no lock and allocates only when something is new. All of it runs on the
 * consumer's thread; other threads may only read the statistics, which are atomic.
 */
#include "exporter/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/manifest.h>

#include "base/array.h"
#include "base/log.h"
#include "base/os.h"

enum {
	LOST_TYPES = 3,
	/* The most event classes that a pipeline remembers; real machines have a few thousand. */
	CLASSES_MAX = 32768,
	DEFERRED_CLASSES_MAX = 64,
	DEFERRED_RECORDS_MAX = 1 << 18,
	DEFERRED_PAYLOADS_MAX = 64 << 20, /* bytes */
	TEND_EVERY = 10 * 10000000,       /* 100 ns */
	/* A rundown at the beginning of a recording is over after this time of the recording. */
	RUNDOWN = 2 * 10000000, /* 100 ns */
};

/* A copy of a record that the first pass cannot decode yet. */
struct deferred_record {
	struct etw_record record; /* its pointers point into this struct */
	struct etw_guid provider;
	uint8_t payload[];
};

/*
 * The few records that can only be decoded at the end of the first pass, when the recording has
 * announced their schemas. The list is bounded: a record that does not fit is left out.
 */
struct deferred_records {
	struct deferred_record **records; /* owned, as are its elements */
	size_t count, capacity;
	size_t payload_bytes;
};

/* The counters of one session. Those whose labels are all known exist with value 0 before the first
 * event. */
struct session_cells {
	struct family *events; /* by provider */
	cell *outcomes[OUTCOME_COUNT];
	cell *lost[LOST_TYPES]; /* indexed by the type of the record that reports a loss */
};

struct pipeline {
	struct pipeline_options options;
	struct etw_trace_schemas *schemas;
	struct etw_inband_manifests *inband; /* for a source without a first pass */
	struct etw_schema_origins origins;
	/*
	 * Two event tables, one for each pass: the name of a class can depend on records that only
	 * the first pass finds. The statistics show the second one, whose classes have rules.
	 */
	struct etw_event_table *ahead;
	struct etw_usual_classes *usual_ahead; /* of that table */
	struct etw_event_table *event_table;
	struct etw_usual_classes *usual;   /* of event_table */
	struct etw_kernel_choice ahead_at; /* which kernel records the first pass needs */
	struct etw_id_choice ahead_ids;    /* and which ids of other events */
	struct deferred_records deferred;  /* collected by the first pass that is under way */
	struct tracker *tracker;
	struct rule_engine *engine;
	/* See shard_enter() and shard_tend(). */
	const _Atomic(uint64_t) *epoch; /* owned by the registry */
	uint64_t entered;               /* what shard_enter() returned; 0 after shard_leave() */
	int64_t time, tended_time;      /* time of the last record; time of the last shard_tend() */
	int64_t begun;                  /* time of the first record while gauges are held */
	const struct etw_record *next;  /* for report_alive() */
	uint32_t session;               /* label id */
	int64_t from, to;               /* range of times whose events are counted */
	struct session_cells cells;
	bool schemas_known; /* an earlier pass has collected them */
	bool awaits_names;  /* of the processes that a live session found at its start */
	bool met_range;     /* a record was in the range of times */
	bool failed; /* there was no memory for an event class; the pass stops with an error */
	struct etw_event_sink sink; /* given to the source that runs */
};

/* ---- what every pipeline counts, independent of the rules ---- */

/*
 * A session writes these records in place of events that a real-time consumer was too slow to take
 * ("RT_LostEvent class", Microsoft Learn).
 */
static const struct {
	uint8_t opcode;
	const char *type;
} lost_types[LOST_TYPES] = {
	{ ETW_KERNEL_OPCODE_LOST_EVENT, "event" },
	{ ETW_KERNEL_OPCODE_LOST_BUFFER, "buffer" },
	{ ETW_KERNEL_OPCODE_LOST_FILE, "file" },
};

/* clang-format off */
static const struct family_options pipeline_rows[PIPELINE_FAMILIES] = {
	[CONSUMER_EVENTS] = { .type = FAMILY_COUNTER, .name = "etw_consumer_events_total",
		.help = "Events delivered to the consumer, by provider. Includes events removed by filters.",
		.labels = { "session", "provider" }, .label_count = 2, .dynamic_labels = 1U << 1 },
	[CONSUMER_RECORDS] = { .type = FAMILY_COUNTER, .name = "etw_consumer_records_total",
		.help = "Events delivered to the consumer, by outcome. Each event has exactly one outcome.",
		.labels = { "session", "outcome" }, .label_count = 2 },
	[CONSUMER_LOST] = { .type = FAMILY_COUNTER, .name = "etw_consumer_lost_notifications_total",
		.help = "\"Events lost\" records found in the trace, by type of loss.",
		.labels = { "session", "type" }, .label_count = 2 },
};
/* clang-format on */

bool pipeline_families(struct registry *registry, struct family *families[PIPELINE_FAMILIES],
		       struct etw_error *err)
{
	bool good = true;

	for (unsigned i = 0; good && i < PIPELINE_FAMILIES; i++) {
		families[i] = registry_family(registry, &pipeline_rows[i], err);
		good = families[i] != NULL;
	}
	return good;
}

static bool make_cells(struct registry *registry, struct shard *shard, const char *session,
		       struct session_cells *cells, struct etw_error *err)
{
	struct intern *strings = registry_strings(registry);
	uint32_t labels[] = { intern_own(strings, session), 0 };
	struct family *families[PIPELINE_FAMILIES];
	bool good = true;

	if (!pipeline_families(registry, families, err)) {
		return false;
	}
	cells->events = families[CONSUMER_EVENTS];
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		labels[1] = intern_own(strings, record_outcome_name(i));
		cells->outcomes[i] = family_cells(families[CONSUMER_RECORDS], shard, labels, NULL);
		good = good && cells->outcomes[i];
	}
	for (unsigned i = 0; i < LOST_TYPES; i++) {
		labels[1] = intern_own(strings, lost_types[i].type);
		cells->lost[i] = family_cells(families[CONSUMER_LOST], shard, labels, NULL);
		good = good && cells->lost[i];
	}
	return good || error_set(err, ETW_ERROR_NO_MEMORY,
				 "no memory for the counters of session %s", session);
}

bool pipeline_make_samples(struct registry *registry, struct shard *shard, const char *session,
			   struct etw_error *err)
{
	struct session_cells cells;

	return make_cells(registry, shard, session, &cells, err);
}

void pipeline_add_outcomes(struct registry *registry, const char *session,
			   uint64_t outcomes[OUTCOME_COUNT])
{
	struct intern *strings = registry_strings(registry);
	uint32_t labels[] = { intern_own(strings, session), 0 };
	struct family *families[PIPELINE_FAMILIES];
	int64_t value;

	if (!pipeline_families(registry, families, NULL)) {
		return;
	}
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		labels[1] = intern_own(strings, record_outcome_name(i));
		if (family_value(families[CONSUMER_RECORDS], labels, &value)) {
			outcomes[i] += (uint64_t)value;
		}
	}
}

/* Returns the counter for notifications of lost events if the event class is one, else NULL. */
static cell *lost_cell(const struct session_cells *cells, const struct etw_event_class *class)
{
	for (unsigned i = 0; i < LOST_TYPES; i++) {
		if (class->kernel_class == ETW_KERNEL_LOST_EVENT &&
		    class->opcode == lost_types[i].opcode) {
			return cells->lost[i];
		}
	}
	return NULL;
}

/* ---- event classes ---- */

static void release_class(void *context, struct etw_event_class *class)
{
	(void)context;
	tap_release(class);
	tracker_release(class);
	rule_engine_release(class);
}

static void free_classes(struct etw_event_table *event_table)
{
	if (event_table) {
		etw_event_table_each(event_table, release_class, NULL);
		etw_event_table_free(event_table);
	}
}

static RARE void stop_without_memory(struct pipeline *pipeline)
{
	pipeline->failed = true;
	etw_source_stop(pipeline->options.source);
}

/* ---- records deferred to the end of the first pass ---- */

/* Keeps a copy of a record with header and payload; extended items and activity are dropped. */
static void defer(struct deferred_records *deferred, const struct etw_record *record)
{
	size_t size = record->payload_size;
	struct deferred_record **grown;
	struct deferred_record *kept;

	if (deferred->count == DEFERRED_RECORDS_MAX ||
	    size > DEFERRED_PAYLOADS_MAX - deferred->payload_bytes) {
		return;
	}
	grown = array_grow((void *)deferred->records, &deferred->capacity, deferred->count,
			   sizeof *grown);
	if (!grown) {
		return;
	}
	deferred->records = grown;
	kept = malloc(sizeof *kept + size);
	if (!kept) {
		return;
	}
	kept->record = *record;
	kept->provider = *record->provider;
	memcpy(kept->payload, record->payload, size);
	kept->record.provider = &kept->provider;
	kept->record.payload = kept->payload;
	kept->record.activity = NULL;
	kept->record.extended = NULL;
	kept->record.extended_size = 0;
	deferred->records[deferred->count++] = kept;
	deferred->payload_bytes += size;
}

static void deferred_done(struct deferred_records *deferred)
{
	for (size_t i = 0; i < deferred->count; i++) {
		free(deferred->records[i]);
	}
	free((void *)deferred->records);
	*deferred = (struct deferred_records){ .records = NULL };
}

/* ---- evicting label sets ---- */

static void forget_class_cells(void *context, struct etw_event_class *class)
{
	(void)context;
	class->records = NULL;
	rule_engine_forget_cells(class);
}

static void forget_cells(void *context)
{
	struct pipeline *pipeline = context;

	etw_event_table_each(pipeline->event_table, forget_class_cells, NULL);
}

static void report_alive(void *context)
{
	struct pipeline *pipeline = context;

	tracker_report_alive(pipeline->tracker, pipeline->next);
}

/* Call it before the registry is used between two records. */
static void enter_registry(struct pipeline *pipeline)
{
	if (atomic_load_explicit(pipeline->epoch, memory_order_relaxed) != pipeline->entered) {
		pipeline->entered = shard_enter(pipeline->options.shard);
	}
}

static void leave_registry(struct pipeline *pipeline)
{
	pipeline->entered = 0;
	shard_leave(pipeline->options.shard);
}

/* Returns false if prepare_for() has work to do. Costs two comparisons for each record. */
static inline bool is_prepared_for(const struct pipeline *pipeline, const struct etw_record *record)
{
	return atomic_load_explicit(pipeline->epoch, memory_order_relaxed) == pipeline->entered &&
	       (uint64_t)record->time - (uint64_t)pipeline->tended_time < (uint64_t)TEND_EVERY;
}

/* Looks every ten seconds of event time for label sets to evict. */
static NOINLINE void prepare_for(struct pipeline *pipeline, const struct etw_record *record)
{
	enter_registry(pipeline);
	if (record->time == ETW_RECORD_NO_TIME) {
		return;
	}
	/* The first record of each buffer comes here. A record may also come late. */
	if (pipeline->tended_time != ETW_RECORD_NO_TIME &&
	    etw_time_between(pipeline->tended_time, record->time) < (uint64_t)TEND_EVERY &&
	    etw_time_between(record->time, pipeline->tended_time) < (uint64_t)TEND_EVERY) {
		return;
	}
	if (pipeline->tended_time != ETW_RECORD_NO_TIME &&
	    (!pipeline->options.observer || pipeline->options.observer->evicts)) {
		pipeline->next = record;
		shard_tend(pipeline->options.shard, pipeline->time, record->time);
		enter_registry(pipeline);
	}
	pipeline->tended_time = record->time;
}

/* ---- first pass: schemas and names, in file order ---- */

/*
 * Resolves an event class in the first pass. Events with names of files are too many to be deferred
 * to the end of the pass, when the recording's own schemas are known. Therefore the built-in
 * manifest decodes them; it describes these versions in the same way.
 */
static bool prepare_ahead(struct pipeline *pipeline, struct etw_event_class *class)
{
	const struct etw_configured_manifests *manifests = &pipeline->options.setup->manifests;
	uint32_t knew = tracker_kernel_subjects(pipeline->tracker);

	if (!class->schema && tracker_names_files(class)) {
		class->schema = etw_manifest_set_schema(manifests->builtin, &class->provider,
							class->id, class->version, class->opcode,
							false);
	}
	if (!tracker_prepare(pipeline->tracker, class)) {
		return false;
	}
	if (tracker_kernel_subjects(pipeline->tracker) != knew) {
		tracker_choose_ahead(pipeline->tracker, &pipeline->ahead_at);
	}
	return true;
}

/* Returns the class of a record for which etw_event_table_usual() has none. NULL: the pass is
 * stopped. */
static NOINLINE struct etw_event_class *find_ahead(struct pipeline *pipeline,
						   const struct etw_record *record)
{
	bool added;
	struct etw_event_class *class = etw_event_table_find(pipeline->ahead, record, &added);

	if (class && added) {
		tracker_release(class);
	}
	if (!class || (added && !prepare_ahead(pipeline, class))) {
		stop_without_memory(pipeline);
		return NULL;
	}
	return class;
}

static void on_first_pass(void *context, const struct etw_record *record)
{
	struct pipeline *pipeline = context;
	struct etw_event_class *class;

	/* Stack records are frequent, and only the tracker uses them. */
	if (record->kernel_group != ETW_KERNEL_GROUP_STACK_WALK) {
		if (!pipeline->schemas_known) {
			etw_trace_schemas_look(pipeline->schemas, record);
		}
		if (tracker_skips_ahead(record)) {
			return;
		}
	}
	enter_registry(pipeline);
	class = etw_event_table_usual(pipeline->usual_ahead, record);
	if (!class) {
		class = find_ahead(pipeline, record);
	}
	if (class && tracker_first_pass(pipeline->tracker, record, class)) {
		defer(&pipeline->deferred, record);
	}
}

/* Shows the deferred records to the tracker, now that all schemas are known. */
static void show_deferred_records(struct pipeline *pipeline)
{
	struct etw_event_table *event_table = NULL;

	if (pipeline->deferred.count > 0) {
		event_table = etw_event_table_new(DEFERRED_CLASSES_MAX, &pipeline->origins, NULL);
		if (!event_table) {
			stop_without_memory(pipeline);
		}
	}
	for (size_t i = 0; event_table && i < pipeline->deferred.count; i++) {
		const struct etw_record *record = &pipeline->deferred.records[i]->record;
		bool added;
		struct etw_event_class *class = etw_event_table_find(event_table, record, &added);

		if (!class || (added && !tracker_prepare(pipeline->tracker, class))) {
			stop_without_memory(pipeline);
			break;
		}
		tracker_first_pass(pipeline->tracker, record, class);
	}
	free_classes(event_table);
	deferred_done(&pipeline->deferred);
}

static void on_first_pass_end(void *context)
{
	struct pipeline *pipeline = context;

	if (!pipeline->schemas_known) {
		etw_trace_schemas_finish(pipeline->schemas);
		pipeline->schemas_known = true;
	}
	enter_registry(pipeline);
	show_deferred_records(pipeline);
	tracker_first_pass_end(pipeline->tracker);
	if (pipeline->options.on_ready) {
		pipeline->options.on_ready(pipeline->options.ready_context);
	}
}

/* ---- second pass: everything, in time order ---- */

static void on_forget(void *context, uint32_t manifest_id)
{
	struct pipeline *pipeline = context;

	etw_event_table_drop(pipeline->event_table, manifest_id, release_class, NULL);
}

static void add_description(void *context, uint8_t opcode, const void *bytes, size_t size)
{
	tap_add_description(context, opcode, bytes, size);
}

/* Adds the description that the operating system has of an event class to the flight recorder's
 * recordings, because other machines may not have it. */
static void describe_class(struct pipeline *pipeline, const struct etw_record *record,
			   const struct etw_event_class *class)
{
	const struct etw_schema_system *system = &pipeline->origins.system;

	if (system->describe && class->schema && class->manifest_id == 0 &&
	    (class->schema->origin == ETW_SCHEMA_MANIFEST ||
	     class->schema->origin == ETW_SCHEMA_EVENT_INFO)) {
		system->describe(system->context, record, add_description, pipeline->options.tap);
	}
}

static NOINLINE bool prepare_class(struct pipeline *pipeline, const struct etw_record *record,
				   struct etw_event_class *class)
{
	class->lost = lost_cell(&pipeline->cells, class);
	if (pipeline->options.observer && pipeline->options.observer->on_class &&
	    !rule_engine_only_names(pipeline->engine, class)) {
		pipeline->options.observer->on_class(pipeline->options.observer->context, class);
	}
	if (!tracker_prepare(pipeline->tracker, class) ||
	    !rule_engine_prepare(pipeline->engine, class)) {
		return false;
	}
	if (!pipeline->options.tap) {
		return true;
	}
	describe_class(pipeline, record, class);
	return tap_prepare(pipeline->options.tap, class,
			   !(tracker_kernel_subjects(pipeline->tracker) & SUBJECT_PROCESSES));
}

/* Returns the cell of etw_consumer_events_total for the provider of the class. */
static NOINLINE cell *provider_cell(struct pipeline *pipeline, struct etw_event_class *class)
{
	uint32_t provider = intern_string(registry_strings(pipeline->options.setup->registry),
					  class->provider_name);
	uint32_t labels[] = { pipeline->session, provider };
	bool overflowed;
	cell *at =
		family_cells(pipeline->cells.events, pipeline->options.shard, labels, &overflowed);

	if (!overflowed) {
		class->records = at;
	}
	return at;
}

/* ---- callbacks of live sessions ---- */

static void on_restart(void *context)
{
	enter_registry(context);
	pipeline_reset(context);
}

static void on_process(void *context, uint32_t process_id, const char *name, size_t size)
{
	struct pipeline *pipeline = context;

	enter_registry(pipeline);
	tracker_name_process(pipeline->tracker, process_id, name, size);
	if (pipeline->options.tap) {
		tap_add_process(pipeline->options.tap, process_id, name);
	}
}

static void on_thread(void *context, uint32_t thread_id, uint32_t process_id)
{
	struct pipeline *pipeline = context;

	tracker_own_thread(pipeline->tracker, thread_id, process_id);
}

static void on_volume(void *context, const char *nt_path, const char *dos_path)
{
	struct pipeline *pipeline = context;

	enter_registry(pipeline);
	if (tracker_uses_volumes(pipeline->tracker)) {
		tracker_map_volume(pipeline->tracker, nt_path, dos_path);
	}
	if (pipeline->options.tap) {
		tap_add_volume(pipeline->options.tap, nt_path, dos_path);
	}
}

static void on_known(void *context, const struct etw_record *record)
{
	struct pipeline *pipeline = context;
	struct etw_event_class *class;
	bool added;

	enter_registry(pipeline);
	class = etw_event_table_find(pipeline->event_table, record, &added);
	if (!class || (added && !prepare_class(pipeline, record, class))) {
		stop_without_memory(pipeline);
		return;
	}
	tracker_learn(pipeline->tracker, record, class);
	if (pipeline->options.tap) {
		tap_add_known(pipeline->options.tap, record, class);
	}
}

static void on_disk(void *context, uint32_t disk, const char *model, uint32_t bytes_per_sector)
{
	struct pipeline *pipeline = context;

	enter_registry(pipeline);
	if (tracker_uses_disks(pipeline->tracker)) {
		tracker_find_disk(pipeline->tracker, disk, model, bytes_per_sector);
	}
	if (pipeline->options.tap) {
		tap_add_disk(pipeline->options.tap, disk, model, bytes_per_sector);
	}
}

static void on_partition(void *context, uint32_t disk, uint32_t partition, const char *volume,
			 const char *file_system)
{
	struct pipeline *pipeline = context;

	enter_registry(pipeline);
	if (tracker_uses_disks(pipeline->tracker)) {
		tracker_find_partition(pipeline->tracker, disk, partition, volume, file_system);
	}
	if (pipeline->options.tap) {
		tap_add_partition(pipeline->options.tap, disk, partition, volume, file_system);
	}
}

static void on_service(void *context, uint32_t process_id, uint32_t tag, const char *name)
{
	struct pipeline *pipeline = context;

	enter_registry(pipeline);
	if (tracker_uses_services(pipeline->tracker)) {
		tracker_find_service(pipeline->tracker, process_id, tag, name);
	}
	if (pipeline->options.tap) {
		tap_add_service(pipeline->options.tap, process_id, tag, name);
	}
}

static void on_memory(void *context, const struct etw_process_memory *list, size_t count)
{
	struct pipeline *pipeline = context;

	enter_registry(pipeline);
	tracker_read_memory(pipeline->tracker, list, count);
}

static void on_snapshot_end(void *context)
{
	struct pipeline *pipeline = context;

	pipeline->awaits_names = true;
	if (pipeline->options.on_snapshot) {
		pipeline->options.on_snapshot(pipeline->options.ready_context);
	}
}

static const char *process_name(void *context)
{
	struct pipeline *pipeline = context;
	const char *name = intern_text(registry_strings(pipeline->options.setup->registry),
				       tracker_process(pipeline->tracker, NULL), NULL);

	return name && name[0] != '_' ? name : NULL; /* _unknown, _none, _other */
}

/* ---- reload ---- */

/* Chooses which lists of the machine (volumes, disks, services) the source delivers: those that the
 * tracker uses. */
static void choose_lists(struct pipeline *pipeline)
{
	const struct tracker *tracker = pipeline->tracker;
	struct etw_event_sink *sink = &pipeline->sink;
	bool all = pipeline->options.tap != NULL; /* a recording needs all of them */

	sink->on_volume = tracker_uses_volumes(tracker) || all ? on_volume : NULL;
	sink->on_disk = tracker_uses_disks(tracker) || all ? on_disk : NULL;
	sink->on_partition = tracker_uses_disks(tracker) || all ? on_partition : NULL;
	sink->on_service = tracker_uses_services(tracker) || all ? on_service : NULL;
	sink->on_memory = tracker_uses_memory(tracker) ? on_memory : NULL;
}

/* Adds the tracker features that the configuration and the observer request. */
static void add_configured(struct pipeline *pipeline, struct tracker_options *tracker)
{
	const struct pipeline_observer *observer = pipeline->options.observer;

	setup_tracker_options(pipeline->options.setup, tracker);
	tracker->processes_of_provider = !pipeline->options.live || pipeline->options.first_session;
	tracker->process_memory &= tracker->processes_of_provider;
	tracker->kernel_subjects =
		pipeline->options.live ? setup_kernel_subjects(pipeline->options.setup) : 0;
	if (pipeline->options.attached) {
		/* Windows lists the processes as the kernel's events do. Whether it has other
		 * events of the kernel, only these can say. */
		tracker->attached = true;
		tracker->kernel_subjects &= SUBJECT_PROCESSES | SUBJECT_THREADS;
	}
	if (observer) {
		tracker->features |= observer->features;
	}
	if (observer && observer->probe) {
		tracker->features |= probe_features(observer->probe);
	}
}

/* Takes over the next set-up. If there is no memory for it, on_reloaded() is not called, so the
 * former set-up is kept, and the pass ends. */
static RARE void apply_reload(struct pipeline *pipeline)
{
	struct pipeline_options *options = &pipeline->options;
	struct pipeline_reload next = options->on_reload(options->reload_context);
	struct tracker_options tracker = { 0 };
	struct etw_error err;

	enter_registry(pipeline);
	options->setup = next.setup;
	options->names_only = next.names_only;
	options->first_session = next.first_session;
	add_configured(pipeline, &tracker);
	if (!tracker_change(pipeline->tracker, &tracker, &err) ||
	    !rule_engine_replace(pipeline->engine, next.setup->rules, next.names_only, &err)) {
		stop_without_memory(pipeline);
		return;
	}
	tracker_choose_ahead(pipeline->tracker, &pipeline->ahead_at);
	pipeline->origins.configured = next.setup->manifests.configured;
	pipeline->origins.builtin = next.setup->manifests.builtin;
	etw_event_table_renew(pipeline->ahead, NULL);
	etw_event_table_renew(pipeline->event_table, &pipeline->origins);
	choose_lists(pipeline);
	etw_source_sink_changed(options->source);
	options->on_reloaded(options->reload_context);
}

static inline void reload_when_due(struct pipeline *pipeline)
{
	/* Pairs with the release of the thread that sets the flag: the next set-up is complete. */
	if (atomic_load_explicit(pipeline->options.reload_due, memory_order_acquire)) {
		apply_reload(pipeline);
	}
}

/* ---- each event ---- */

static NOINLINE void call_observer(struct pipeline *pipeline, const struct etw_record *record,
				   const struct etw_event_class *class)
{
	const struct pipeline_observer *observer = pipeline->options.observer;

	if (rule_engine_only_names(pipeline->engine, class)) {
		return;
	}
	if (!observer->probe || rule_engine_probe(pipeline->engine, record, class)) {
		observer->on_record(observer->context, record, class, pipeline->tracker);
	} else if (observer->on_left_out) {
		observer->on_left_out(observer->context, record);
	}
}

/* Shows the record to the flight recorder. */
static NOINLINE void add_to_tap(struct pipeline *pipeline, const struct etw_record *record,
				const struct etw_event_class *class)
{
	struct tap *tap = pipeline->options.tap;
	const char *process = NULL;

	if (tap_asks_for_process(tap)) {
		process = intern_text(registry_strings(pipeline->options.setup->registry),
				      tracker_process(pipeline->tracker, NULL), NULL);
	}
	tap_add_event(tap, record, class, process);
}

/* Waits until the record is due, and takes over the set-up of a reload that comes meanwhile.
 * Returns false if the replay is stopped. */
static NOINLINE bool wait_until_due(struct pipeline *pipeline, const struct etw_record *record)
{
	struct pace *pace = pipeline->options.pace;

	while (!pace_wait(pace, record->time)) {
		if (pace_stopped(pace)) {
			return false;
		}
		reload_when_due(pipeline);
	}
	return true;
}

/* Shows the gauges of this pass in place of those of the former one, once the rundown is over. */
static NOINLINE void release_gauges_when_due(struct pipeline *pipeline,
					     const struct etw_record *record)
{
	if (record->time == ETW_RECORD_NO_TIME) {
		return;
	}
	if (pipeline->begun == ETW_RECORD_NO_TIME) {
		pipeline->begun = record->time;
	}
	if (record->time >= etw_time_add(pipeline->begun, RUNDOWN)) {
		shard_release_gauges(pipeline->options.shard);
		pipeline->options.gauges_held = false;
	}
}

/* Returns the class of a record for which etw_event_table_usual() has none. NULL: the pass is
 * stopped. */
static NOINLINE struct etw_event_class *find_class(struct pipeline *pipeline,
						   const struct etw_record *record)
{
	bool added;
	struct etw_event_class *class = etw_event_table_find(pipeline->event_table, record, &added);

	if (!class || (added && !prepare_class(pipeline, record, class))) {
		stop_without_memory(pipeline);
		return NULL;
	}
	return class;
}

static bool has_range(const struct pipeline_options *options)
{
	return options->from.set || options->to.set;
}

static int64_t moment(const struct pipeline *pipeline, const struct utc_moment *moment,
		      int64_t fallback)
{
	int64_t start = etw_source_facts(pipeline->options.source)->clock.anchor_time;

	return !moment->set     ? fallback :
	       moment->relative ? etw_time_add(start, moment->time_100ns) :
				  moment->time_100ns;
}

/* Returns whether the record is counted. From records before the range the tracker only learns
 * what exists; records after it change nothing, so that gauges show the end of the range. */
static NOINLINE bool is_in_range(struct pipeline *pipeline, const struct etw_record *record)
{
	struct etw_event_class *class;

	if (record->time >= pipeline->to) {
		return false;
	}
	if (record->time >= pipeline->from) {
		pipeline->met_range = true;
		return true;
	}
	enter_registry(pipeline);
	if (!pipeline->schemas_known && etw_event_schema_may_learn(record)) {
		etw_event_schema_learn(&pipeline->origins, record);
	}
	class = find_class(pipeline, record);
	if (class) {
		tracker_observe(pipeline->tracker, record, class);
	}
	return false;
}

/*
 * Takes one event through all steps. extras: the pipeline has one of the rarely used parts that
 * has_extras() names.
 */
static ALWAYS_INLINE void count_event(struct pipeline *pipeline, const struct etw_record *record,
				      bool extras)
{
	const struct pipeline_options *options = &pipeline->options;
	struct etw_event_class *class;
	enum record_outcome outcome;
	cell *events;
	bool counts;

	if (extras && has_range(options) && !is_in_range(pipeline, record)) {
		return;
	}
	if (extras && options->pace && !wait_until_due(pipeline, record)) {
		return; /* a record that was not delivered is not counted */
	}
	reload_when_due(pipeline);
	if (extras && options->gauges_held) {
		release_gauges_when_due(pipeline, record);
	}
	if (extras && options->on_time) {
		options->on_time(options->time_context, record->time);
	}
	class = etw_event_table_usual(pipeline->usual, record);
	if (!class && !pipeline->schemas_known && etw_event_schema_may_learn(record)) {
		etw_event_schema_learn(&pipeline->origins, record);
	}
	if (!is_prepared_for(pipeline, record)) {
		prepare_for(pipeline, record);
	}
	pipeline->time = record->time;
	if (!class) {
		class = find_class(pipeline, record);
		if (!class) {
			return;
		}
	}
	events = class->records ? class->records : provider_cell(pipeline, class);
	if (events) {
		cell_count(events);
	}
	if (class->lost) {
		cell_count(class->lost);
	}
	counts = tracker_observe(pipeline->tracker, record, class);
	if (extras && options->tap) {
		add_to_tap(pipeline, record, class);
	}
	outcome = rule_engine_apply(pipeline->engine, record, class);
	cell_count(pipeline->cells.outcomes[outcome]);
	if (counts && outcome != OUTCOME_FILTERED) {
		tracker_count(pipeline->tracker);
	}
	if (extras && options->observer) {
		call_observer(pipeline, record, class);
	}
}

static bool has_extras(const struct pipeline_options *options)
{
	return options->pace || options->gauges_held || options->on_time || options->tap ||
	       options->observer || has_range(options);
}

static void on_event(void *context, const struct etw_record *record)
{
	count_event(context, record, false);
}

static void on_event_with_extras(void *context, const struct etw_record *record)
{
	count_event(context, record, true);
}

static void on_buffer(void *context)
{
	struct pipeline *pipeline = context;

	reload_when_due(pipeline);
	if (pipeline->options.observer && pipeline->options.observer->on_buffer) {
		pipeline->options.observer->on_buffer(pipeline->options.observer->context);
	}
	if (pipeline->options.on_buffer) {
		pipeline->options.on_buffer(pipeline->options.buffer_context);
	}
	if (pipeline->awaits_names && tracker_unseen_processes(pipeline->tracker) == 0) {
		pipeline->awaits_names = false;
		if (pipeline->options.on_ready) {
			pipeline->options.on_ready(pipeline->options.ready_context);
		}
	}
	leave_registry(pipeline); /* because the source may now wait for the next buffer */
}

bool pipeline_missed_range(const struct pipeline *pipeline)
{
	return has_range(&pipeline->options) && !pipeline->met_range;
}

bool pipeline_run(struct pipeline *pipeline, struct etw_error *err)
{
	bool done;

	pipeline->sink = (struct etw_event_sink){
		.context = pipeline,
		.on_first_pass = on_first_pass,
		.first_pass_choice = &pipeline->ahead_at,
		.first_pass_ids = &pipeline->ahead_ids,
		.on_first_pass_end = on_first_pass_end,
		.on_event = has_extras(&pipeline->options) ? on_event_with_extras : on_event,
		.on_buffer = on_buffer,
		.on_restart = on_restart,
		.on_process = on_process,
		.on_thread = on_thread,
		.on_snapshot_end = on_snapshot_end,
		.on_known = on_known,
		.process_name = process_name,
	};
	choose_lists(pipeline);
	pipeline->from = moment(pipeline, &pipeline->options.from, INT64_MIN);
	pipeline->to = moment(pipeline, &pipeline->options.to, INT64_MAX);
	if (pipeline->options.tap) {
		tap_begin(pipeline->options.tap, etw_source_facts(pipeline->options.source));
	}
	if (pipeline->options.pace) {
		pace_start(pipeline->options.pace);
	}
	done = etw_source_run(pipeline->options.source, &pipeline->sink, err);
	enter_registry(pipeline);
	tracker_end(pipeline->tracker);
	leave_registry(pipeline);
	if (pipeline->failed) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for another event class");
	}
	return done;
}

void pipeline_reset(struct pipeline *pipeline)
{
	enter_registry(pipeline);
	deferred_done(&pipeline->deferred); /* left over if the first pass was stopped */
	tracker_reset(pipeline->tracker);
	rule_engine_reset(pipeline->engine);
	leave_registry(pipeline);
}

void pipeline_each_process(const struct pipeline *pipeline,
			   void (*visit)(void *context, uint32_t process_id, uint32_t name,
					 uint32_t image),
			   void *context)
{
	tracker_each_process(pipeline->tracker, visit, context);
}

/* ---- making and ending ---- */

static void on_schema_mismatch(void *context, const char *sentence)
{
	(void)context;
	log_warning("Rule does not apply to an event", log_text("rule", sentence));
}

static bool make_tracker(struct pipeline *pipeline, struct etw_error *err)
{
	const struct pipeline_options *options = &pipeline->options;
	struct tracker_options tracker = {
		.registry = options->setup->registry,
		.shard = options->shard,
		.clock = &etw_source_facts(options->source)->clock,
		.names = options->names,
		.live = options->live,
		.late_ms = options->late_ms,
		.find_account = options->live ? os_account_name : NULL,
	};

	add_configured(pipeline, &tracker);
	pipeline->tracker = tracker_new(&tracker, err);
	if (!pipeline->tracker) {
		return false;
	}
	tracker_choose_ahead(pipeline->tracker, &pipeline->ahead_at);
	tracker_choose_ids_ahead(&pipeline->ahead_ids);
	etw_trace_schemas_choose_ids(&pipeline->ahead_ids);
	return true;
}

static bool make_engine(struct pipeline *pipeline, struct etw_error *err)
{
	const struct pipeline_options *options = &pipeline->options;
	const struct rule_engine_options engine = {
		.set = options->setup->rules,
		.registry = options->setup->registry,
		.shard = options->shard,
		.tracker = pipeline->tracker,
		.clock = &etw_source_facts(options->source)->clock,
		.session = options->session,
		.names_only = options->names_only,
		.probe = options->observer ? options->observer->probe : NULL,
		.on_schema_mismatch = on_schema_mismatch,
		.dry_run = options->observer ? options->observer->dry_run : NULL,
	};

	pipeline->engine = rule_engine_new(&engine, err);
	pipeline->event_table =
		pipeline->engine ? etw_event_table_new(CLASSES_MAX, &pipeline->origins, err) : NULL;
	if (!pipeline->event_table) {
		return false;
	}
	pipeline->usual = etw_event_table_usual_classes(pipeline->event_table);
	return true;
}

static bool make_parts(struct pipeline *pipeline, struct etw_error *err)
{
	const struct pipeline_options *options = &pipeline->options;

	if (!make_tracker(pipeline, err)) {
		return false;
	}
	pipeline->schemas = etw_trace_schemas_new(err);
	pipeline->inband = pipeline->schemas ? etw_inband_manifests_new(on_forget, pipeline, err) :
					       NULL;
	pipeline->ahead = pipeline->inband ? etw_event_table_new(CLASSES_MAX, NULL, err) : NULL;
	pipeline->origins = (struct etw_schema_origins){
		.live = options->live,
		.trace = pipeline->schemas,
		.inband = pipeline->inband,
		.configured = options->setup->manifests.configured,
		.builtin = options->setup->manifests.builtin,
		.builtin_names = true,
		.system = options->system,
	};
	if (!pipeline->ahead) {
		return false;
	}
	pipeline->usual_ahead = etw_event_table_usual_classes(pipeline->ahead);
	return make_engine(pipeline, err);
}

static bool attend_shard(struct pipeline *pipeline, struct etw_error *err)
{
	const struct pipeline_options *options = &pipeline->options;
	struct registry *registry = options->setup->registry;

	pipeline->epoch = registry_epoch(registry);
	pipeline->time = ETW_RECORD_NO_TIME;
	pipeline->tended_time = ETW_RECORD_NO_TIME;
	pipeline->begun = ETW_RECORD_NO_TIME;
	pipeline->session = intern_own(registry_strings(registry), options->session);
	if (!make_cells(registry, options->shard, options->session, &pipeline->cells, err)) {
		return false;
	}
	shard_attend(options->shard, &(struct shard_owner){ .context = pipeline,
							    .forget_cells = forget_cells,
							    .report_alive = report_alive });
	return true;
}

/* The flag of a pipeline without reloads, which is never set. */
static const atomic_bool never_due;

struct pipeline *pipeline_new(const struct pipeline_options *options, struct etw_error *err)
{
	struct pipeline *pipeline = calloc(1, sizeof *pipeline);

	if (!pipeline) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for a pipeline");
		return NULL;
	}
	pipeline->options = *options;
	if (!options->reload_due) {
		pipeline->options.reload_due = &never_due;
	}
	if (!make_parts(pipeline, err) || !attend_shard(pipeline, err)) {
		pipeline_free(pipeline);
		return NULL;
	}
	return pipeline;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline) {
		return;
	}
	shard_attend(pipeline->options.shard, NULL);
	free_classes(pipeline->ahead);
	free_classes(pipeline->event_table);
	deferred_done(&pipeline->deferred);
	etw_inband_manifests_free(pipeline->inband);
	etw_trace_schemas_free(pipeline->schemas);
	rule_engine_free(pipeline->engine);
	tracker_free(pipeline->tracker);
	free(pipeline);
}

void pipeline_statistics(const struct pipeline *pipeline, struct pipeline_statistics *statistics)
{
	static const enum tracker_table tables[ENGINE_TABLES] = {
		[ENGINE_SPANS] = TABLE_PAIR,
		[ENGINE_GAUGES] = TABLE_GAUGE,
	};
	struct etw_trace_schemas_statistics trace;
	struct rule_engine_statistics engine;

	etw_event_table_statistics(pipeline->event_table, &statistics->event_table);
	etw_inband_manifests_statistics(pipeline->inband, &statistics->inband);
	tracker_statistics(pipeline->tracker, &statistics->tracker);
	etw_trace_schemas_statistics(pipeline->schemas, &trace);
	statistics->inband.dropped += trace.dropped_manifests;
	statistics->dropped_descriptions = trace.dropped_descriptions;
	rule_engine_statistics(pipeline->engine, &engine);
	for (unsigned i = 0; i < ENGINE_TABLES; i++) {
		statistics->tracker.entries[tables[i]] = engine.entries[i];
		statistics->tracker.evictions[tables[i]] = engine.evictions[i];
	}
}

void pipeline_statistics_add(struct pipeline_statistics *sum,
			     const struct pipeline_statistics *statistics)
{
	/* Every member is a uint64_t, so that a new member is summed without a change here. */
	enum { COUNT = sizeof *sum / sizeof(uint64_t) };
	const uint64_t *from = (const uint64_t *)statistics;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < COUNT; i++) {
		to[i] += from[i];
	}
}

void pipeline_statistics_end(struct pipeline_statistics *statistics)
{
	statistics->event_table.entries = 0;
	statistics->inband.entries = 0;
	memset(statistics->tracker.entries, 0, sizeof statistics->tracker.entries);
}
