/* SPDX-License-Identifier: MIT */
/*
 * The tracker on one page: what a record tells goes to the tables, what is asked about the record
 * is looked up there.
 *
 * Derived fields are worked out when they are first asked for and kept until the next record, since
 * several rules ask the same.
 */
#include "track/tracker.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/text.h"
#include "track/attribution.h"
#include "track/processes.h"
#include "track/threads.h"

enum {
	PROCESSES = 20000,
	THREADS = 200000,
	FILES = 200000,
	STRINGS_BYTES = 64 << 20,
};

struct tracker {
	struct tracker_options options;
	uint32_t asked;       /* enum tells that somebody is interested in */
	struct intern *texts; /* owned: paths, and image names while looking ahead */
	struct text scratch;  /* owned: text of the record at hand */
	struct processes processes;
	struct threads threads;
	bool looking_ahead;

	/* The record last observed, and what was worked out about it. */
	const struct event_record *record;
	const struct attribution *attribution;
	bool process_known;
	uint32_t process; /* label id */
	uint32_t process_id;
	uint32_t instance;

	_Atomic(uint64_t) entries[TABLE_COUNT];
	_Atomic(uint64_t) evictions[TABLE_COUNT];
	_Atomic(uint64_t) unattributed[MISS_COUNT];
};

static const struct attribution nothing = { .name = -1, .name_too = -1 };

/* ---- statistics: written by the consumer, read by any thread ---- */

static void miss(struct tracker *tracker, enum tracker_miss reason)
{
	_Atomic(uint64_t) *count = &tracker->unattributed[reason];

	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static void publish_table(struct tracker *tracker, enum tracker_table table, uint64_t entries,
			  uint64_t evictions)
{
	atomic_store_explicit(&tracker->entries[table], entries, memory_order_relaxed);
	atomic_store_explicit(&tracker->evictions[table], evictions, memory_order_relaxed);
}

static void publish(struct tracker *tracker)
{
	const struct lifetimes *processes = &tracker->processes.timeline.table;
	const struct lifetimes *threads = &tracker->threads.timeline.table;

	publish_table(tracker, TABLE_PROCESS, processes->count, processes->evictions);
	publish_table(tracker, TABLE_THREAD, threads->count, threads->evictions);
}

const char *tracker_table_name(enum tracker_table table)
{
	static const char *const names[TABLE_COUNT] = { "process", "thread", "file", "irp",
							"image" };

	return names[table];
}

const char *tracker_miss_name(enum tracker_miss reason)
{
	static const char *const names[MISS_COUNT] = { "thread", "process", "file", "disk" };

	return names[reason];
}

void tracker_statistics(const struct tracker *tracker, struct tracker_statistics *statistics)
{
	for (unsigned i = 0; i < TABLE_COUNT; i++) {
		statistics->entries[i] =
			atomic_load_explicit(&tracker->entries[i], memory_order_relaxed);
		statistics->evictions[i] =
			atomic_load_explicit(&tracker->evictions[i], memory_order_relaxed);
	}
	for (unsigned i = 0; i < MISS_COUNT; i++) {
		statistics->unattributed[i] =
			atomic_load_explicit(&tracker->unattributed[i], memory_order_relaxed);
	}
}

/* ---- what a record tells ---- */

/* Text of a field in the scratch buffer; empty when the payload does not hold it. */
static void read_text(struct tracker *tracker, const struct attribution *attribution, int16_t field,
		      const struct event_record *record)
{
	struct field_slice slice = { 0 };

	text_clear(&tracker->scratch);
	if (field >= 0) {
		field_locate(attribution->schema, (unsigned)field, record, &slice);
		if (slice.at) {
			field_text(&attribution->schema->fields[field], &slice, &tracker->scratch);
		}
	}
	if (tracker->scratch.failed) {
		text_clear(&tracker->scratch);
	}
}

static void tell_process(struct tracker *tracker, const struct event_record *record,
			 const struct attribution *attribution)
{
	uint32_t process_id;

	if (tracker->processes.timeline.complete ||
	    !reader_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == RECORD_NO_ID) {
		return;
	}
	read_text(tracker, attribution, attribution->name, record);
	processes_tell(&tracker->processes, (enum lifetime_change)attribution->change, process_id,
		       record->raw_time, tracker->scratch.data, tracker->scratch.size);
}

static void tell_thread(struct tracker *tracker, const struct event_record *record,
			const struct attribution *attribution)
{
	uint32_t thread_id;
	uint32_t process_id = RECORD_NO_ID;

	if (tracker->threads.timeline.complete ||
	    !reader_u32(&attribution->thread, attribution->schema, record, &thread_id)) {
		return;
	}
	reader_u32(&attribution->about, attribution->schema, record, &process_id);
	threads_tell(&tracker->threads, (enum lifetime_change)attribution->change, thread_id,
		     record->raw_time, process_id);
}

/* What a look-ahead collects, and an observation for itself when there was none. */
static void tell_tables(struct tracker *tracker, const struct event_record *record,
			const struct attribution *attribution)
{
	if (attribution->tells & TELLS_PROCESS) {
		tell_process(tracker, record, attribution);
	}
	if (attribution->tells & TELLS_THREAD) {
		tell_thread(tracker, record, attribution);
	}
}

void tracker_look_ahead(struct tracker *tracker, const struct event_record *record,
			const struct event_kind *kind)
{
	if (!tracker->looking_ahead) {
		tracker->looking_ahead = true;
		timeline_look_ahead(&tracker->processes.timeline);
		timeline_look_ahead(&tracker->threads.timeline);
	}
	if (kind->attribution->tells & TELLS_AHEAD) {
		tell_tables(tracker, record, kind->attribution);
	}
}

void tracker_look_ahead_end(struct tracker *tracker)
{
	processes_build(&tracker->processes);
	threads_build(&tracker->threads);
	tracker->looking_ahead = false;
	publish(tracker);
}

static void tell(struct tracker *tracker, const struct event_record *record,
		 const struct attribution *attribution)
{
	tell_tables(tracker, record, attribution);
	publish(tracker);
}

void tracker_observe(struct tracker *tracker, const struct event_record *record,
		     const struct event_kind *kind)
{
	const struct attribution *attribution = kind->attribution;

	tracker->record = record;
	tracker->attribution = attribution;
	tracker->process_known = false;
	if (attribution->tells != 0) {
		tell(tracker, record, attribution);
	}
}

/* ---- what is asked about it ---- */

/* The process that an id in the payload leads to; RECORD_NO_ID: none. */
static uint32_t payload_process(struct tracker *tracker)
{
	const struct event_record *record = tracker->record;
	const struct attribution *attribution = tracker->attribution;
	uint32_t id;

	if (!reader_u32(&attribution->owner_id, attribution->schema, record, &id) ||
	    id == RECORD_NO_ID) {
		return RECORD_NO_ID;
	}
	if (attribution->owner != OWNER_PROCESS_ID) {
		id = threads_process(&tracker->threads, id, record->raw_time);
		if (id == RECORD_NO_ID) {
			miss(tracker, MISS_THREAD);
		}
	}
	return id;
}

/* The label of a process id at the time of the record. */
static uint32_t label_of(struct tracker *tracker, uint32_t process_id, uint32_t *instance)
{
	uint32_t label = processes_label(&tracker->processes, process_id, tracker->record->raw_time,
					 instance);

	return label != INTERN_NONE ? label : registry_unknown(tracker->options.registry);
}

static void find_process(struct tracker *tracker)
{
	const struct event_record *record = tracker->record;
	uint8_t owner = tracker->attribution->owner;
	uint32_t id = RECORD_NO_ID;

	if (owner == OWNER_PROCESS_ID || owner == OWNER_THREAD_ID ||
	    (owner == OWNER_THREAD_IF_ASKED && record->process_id == RECORD_NO_ID)) {
		id = payload_process(tracker);
	}
	if (id == RECORD_NO_ID) {
		id = record->process_id;
	}
	if (id == RECORD_NO_ID && record->thread_id != RECORD_NO_ID) {
		id = threads_process(&tracker->threads, record->thread_id, record->raw_time);
		if (id == RECORD_NO_ID && owner == OWNER_HEADER) {
			miss(tracker, MISS_THREAD);
		}
	}
	tracker->process_known = true;
	tracker->process_id = id;
	tracker->instance = 0;
	if (id == RECORD_NO_ID) {
		tracker->process = registry_none(tracker->options.registry);
		return;
	}
	tracker->process =
		processes_label(&tracker->processes, id, record->raw_time, &tracker->instance);
	if (tracker->process == INTERN_NONE) {
		tracker->process = registry_unknown(tracker->options.registry);
		miss(tracker, MISS_PROCESS);
	}
}

uint32_t tracker_process(struct tracker *tracker, uint32_t *process_id)
{
	if (!tracker->process_known) {
		find_process(tracker);
	}
	if (process_id) {
		*process_id = tracker->process_id;
	}
	return tracker->process;
}

uint64_t tracker_instance(struct tracker *tracker)
{
	if (!tracker->process_known) {
		find_process(tracker);
	}
	return tracker->instance;
}

uint32_t tracker_of_process(struct tracker *tracker)
{
	const struct attribution *attribution = tracker->attribution;
	uint32_t id;

	if (!reader_u32(&attribution->about, attribution->schema, tracker->record, &id) ||
	    id == RECORD_NO_ID) {
		return registry_none(tracker->options.registry);
	}
	return label_of(tracker, id, NULL);
}

uint32_t tracker_old_process(struct tracker *tracker)
{
	const struct attribution *attribution = tracker->attribution;
	uint32_t id;

	if (!reader_u32(&attribution->old_thread, attribution->schema, tracker->record, &id) ||
	    id == RECORD_NO_ID) {
		return registry_none(tracker->options.registry);
	}
	id = threads_process(&tracker->threads, id, tracker->record->raw_time);
	return id == RECORD_NO_ID ? registry_none(tracker->options.registry) :
				    label_of(tracker, id, NULL);
}

uint32_t tracker_volume(struct tracker *tracker)
{
	return registry_unknown(tracker->options.registry);
}

const char *tracker_path(struct tracker *tracker, size_t *size)
{
	(void)tracker;
	(void)size;
	return NULL;
}

uint32_t tracker_driver(struct tracker *tracker)
{
	return registry_unknown(tracker->options.registry);
}

bool tracker_duration(struct tracker *tracker, uint64_t *ns)
{
	(void)tracker;
	(void)ns;
	return false;
}

bool tracker_on_cpu(struct tracker *tracker, uint64_t *ns)
{
	(void)tracker;
	(void)ns;
	return false;
}

bool tracker_ready(struct tracker *tracker, uint64_t *ns)
{
	(void)tracker;
	(void)ns;
	return false;
}

bool tracker_started(struct tracker *tracker, uint8_t *opcode)
{
	(void)tracker;
	(void)opcode;
	return false;
}

/* ---- kinds ---- */

bool tracker_prepare(struct tracker *tracker, struct event_kind *kind)
{
	if (!kind->attribution) {
		kind->attribution = malloc(sizeof *kind->attribution);
		if (!kind->attribution) {
			return false;
		}
	}
	attribution_fill(kind->attribution, kind, tracker->asked);
	return true;
}

void tracker_release(struct event_kind *kind)
{
	free(kind->attribution);
	kind->attribution = NULL;
}

/* ---- making and ending ---- */

struct tracker *tracker_new(const struct tracker_options *options, struct error *err)
{
	struct tracker *tracker = calloc(1, sizeof *tracker);

	if (!tracker) {
		error_set(err, ERROR_NO_MEMORY, "no memory for a tracker");
		return NULL;
	}
	tracker->options = *options;
	tracker->attribution = &nothing;
	tracker->asked = TELLS_PROCESS | TELLS_THREAD;
	tracker->texts =
		intern_new(options->strings_bytes ? options->strings_bytes : STRINGS_BYTES, err);
	if (!tracker->texts) {
		free(tracker);
		return NULL;
	}
	processes_init(&tracker->processes, options->registry, tracker->texts,
		       options->processes ? options->processes : PROCESSES, options->lower_case);
	threads_init(&tracker->threads, options->threads ? options->threads : THREADS);
	return tracker;
}

void tracker_reset(struct tracker *tracker)
{
	tracker->attribution = &nothing;
	tracker->looking_ahead = false;
	processes_clear(&tracker->processes);
	threads_clear(&tracker->threads);
	publish(tracker);
}

void tracker_free(struct tracker *tracker)
{
	if (!tracker) {
		return;
	}
	processes_done(&tracker->processes);
	threads_done(&tracker->threads);
	text_free(&tracker->scratch);
	intern_free(tracker->texts);
	free(tracker);
}
