/* SPDX-License-Identifier: MIT */
/*
 * What is asked about the record last observed: derived fields.
 *
 * The process and the file of a record are worked out when they are first asked for and kept until
 * the next record: several rules ask the same, many records are asked nothing.
 *
 * Source: docs/etl-format.md sections 16.1 and 16.3, docs/rules.md ("Derived fields").
 */
#include "track/tracker_internal.h"

enum { IO_PAGING = 2 }; /* in IoFlags: what memory-mapped files and the cache transfer */

/* The process that an id in the payload leads to; RECORD_NO_ID: none. */
static uint32_t payload_process(struct tracker *tracker)
{
	const struct event_record *record = tracker->now.record;
	const struct attribution *attribution = tracker->now.attribution;
	uint32_t id;

	if (!field_read_u32(&attribution->owner_id, attribution->schema, record, &id) ||
	    id == RECORD_NO_ID) {
		return RECORD_NO_ID;
	}
	if (attribution->owner != OWNER_PROCESS_ID) {
		id = threads_process(&tracker->threads, id, record->raw_time);
		if (id == RECORD_NO_ID) {
			tracker_miss(tracker, MISS_THREAD);
		}
	}
	return id;
}

static uint32_t owner_process(struct tracker *tracker)
{
	const struct event_record *record = tracker->now.record;
	uint8_t owner = tracker->now.attribution->owner;
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
			tracker_miss(tracker, MISS_THREAD);
		}
	}
	return id;
}

static void find_process(struct tracker *tracker)
{
	struct tracker_record *now = &tracker->now;

	now->process_known = true;
	now->instance = 0;
	now->process_id = owner_process(tracker);
	if (now->process_id == RECORD_NO_ID) {
		now->process = registry_none(tracker->options.registry);
		return;
	}
	now->process = processes_label(&tracker->processes, now->process_id, now->record->raw_time,
				       &now->instance);
	if (now->process == INTERN_NONE) {
		now->process = registry_unknown(tracker->options.registry);
		tracker_miss(tracker, MISS_PROCESS);
	}
}

uint32_t tracker_process(struct tracker *tracker, uint32_t *process_id)
{
	if (!tracker->now.process_known) {
		find_process(tracker);
	}
	if (process_id) {
		*process_id = tracker->now.process_id;
	}
	return tracker->now.process;
}

uint64_t tracker_instance(struct tracker *tracker)
{
	if (!tracker->now.process_known) {
		find_process(tracker);
	}
	return tracker->now.instance;
}

bool tracker_ended_process(struct tracker *tracker, uint32_t *process_id, uint64_t *instance)
{
	const struct attribution *attribution = tracker->now.attribution;
	const struct event_record *record = tracker->now.record;
	const struct lifetime *ended = NULL;
	uint32_t id;

	if (!(attribution->announces & (ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE)) ||
	    attribution->change == LIFETIME_EXISTS ||
	    !field_read_u32(&attribution->about, attribution->schema, record, &id)) {
		return false;
	}
	if (attribution->announces & ANNOUNCES_PROCESS) {
		ended = lifetimes_ended_at(&tracker->processes.timeline.table, id,
					   record->raw_time);
	}
	*process_id = id;
	*instance = ended ? ended->serial : 0;
	return true;
}

static uint32_t label_of(struct tracker *tracker, uint32_t process_id)
{
	uint32_t label = INTERN_NONE;

	if (process_id == RECORD_NO_ID) {
		return registry_none(tracker->options.registry);
	}
	label = processes_label(&tracker->processes, process_id, tracker->now.record->raw_time,
				NULL);
	return label != INTERN_NONE ? label : registry_unknown(tracker->options.registry);
}

uint32_t tracker_of_process(struct tracker *tracker)
{
	const struct attribution *attribution = tracker->now.attribution;
	uint32_t id = RECORD_NO_ID;

	field_read_u32(&attribution->about, attribution->schema, tracker->now.record, &id);
	return label_of(tracker, id);
}

uint32_t tracker_old_process(struct tracker *tracker)
{
	const struct attribution *attribution = tracker->now.attribution;
	uint32_t id = RECORD_NO_ID;

	field_read_u32(&attribution->old_thread, attribution->schema, tracker->now.record, &id);
	if (id != RECORD_NO_ID) {
		id = threads_process(&tracker->threads, id, tracker->now.record->raw_time);
	}
	return label_of(tracker, id);
}

/* ---- files ---- */

static uint32_t find_file(struct tracker *tracker)
{
	struct tracker_record *now = &tracker->now;
	const struct attribution *attribution = now->attribution;
	uint64_t key, object;
	bool has_key, has_object;

	if (now->file_known) {
		return now->file;
	}
	has_key = field_read_u64(&attribution->file_key, attribution->schema, now->record, &key);
	has_object = field_read_u64(&attribution->file_object, attribution->schema, now->record,
				    &object);
	now->file = files_find(&tracker->files, has_key ? &key : NULL, has_object ? &object : NULL,
			       now->record->raw_time);
	now->file_known = true;
	if (now->file == FILE_UNKNOWN) {
		tracker_miss(tracker, MISS_FILE);
	}
	return now->file;
}

uint32_t tracker_volume(struct tracker *tracker)
{
	return files_volume(&tracker->files, find_file(tracker));
}

uint32_t tracker_path_group(struct tracker *tracker)
{
	return files_group(&tracker->files, find_file(tracker));
}

const char *tracker_path(struct tracker *tracker, size_t *size)
{
	return files_path(&tracker->files, find_file(tracker), size);
}

void tracker_count(struct tracker *tracker)
{
	const struct attribution *attribution = tracker->now.attribution;
	const struct event_record *record = tracker->now.record;
	uint32_t bytes, flags;

	if (!tracker->options.top_paths) {
		return;
	}
	top_paths_time(&tracker->top_paths, record->time);
	if ((attribution->announces & ANNOUNCES_WRITE) &&
	    field_read_u32(&attribution->size, attribution->schema, record, &bytes) &&
	    field_read_u32(&attribution->number, attribution->schema, record, &flags) &&
	    (flags & IO_PAGING) == 0) {
		top_paths_add(&tracker->top_paths, find_file(tracker),
			      tracker_process(tracker, NULL), bytes);
	}
}

void tracker_end(struct tracker *tracker)
{
	top_paths_end(&tracker->top_paths);
}

/* ---- drivers, requests, the scheduler ---- */

uint32_t tracker_driver(struct tracker *tracker)
{
	const struct attribution *attribution = tracker->now.attribution;
	uint32_t label = INTERN_NONE;
	uint64_t address;

	if (field_read_u64(&attribution->address, attribution->schema, tracker->now.record,
			   &address)) {
		label = drivers_label(&tracker->drivers, address, tracker->now.record->raw_time);
	}
	return label != INTERN_NONE ? label : registry_unknown(tracker->options.registry);
}

/* The thread that leads to the event's process; the header's only when it is one of that process.
 */
static uint32_t event_thread(struct tracker *tracker, uint32_t process_id)
{
	const struct attribution *attribution = tracker->now.attribution;
	const struct event_record *record = tracker->now.record;
	uint32_t thread = record->thread_id;

	if (attribution->owner == OWNER_THREAD_ID ||
	    (attribution->owner == OWNER_THREAD_IF_ASKED && record->process_id == RECORD_NO_ID)) {
		field_read_u32(&attribution->owner_id, attribution->schema, record, &thread);
	} else if (attribution->announces & ANNOUNCES_THREAD) {
		field_read_u32(&attribution->thread, attribution->schema, record, &thread);
	}
	return threads_process(&tracker->threads, thread, record->raw_time) == process_id ?
		       thread :
		       RECORD_NO_ID;
}

uint32_t tracker_service(struct tracker *tracker)
{
	uint32_t process_id, thread;
	uint32_t process = tracker_process(tracker, &process_id);

	if (!services_is_host(&tracker->services, process)) {
		return registry_none(tracker->options.registry);
	}
	thread = event_thread(tracker, process_id);
	return services_label(&tracker->services, process_id, thread,
			      tracker->now.record->raw_time);
}

static bool ticks_known(const struct tracker *tracker, uint64_t ticks, uint64_t *ns)
{
	if (ticks == UINT64_MAX) {
		return false;
	}
	*ns = ticks_to_ns(ticks, tracker->options.clock->frequency);
	return true;
}

bool tracker_duration(struct tracker *tracker, uint64_t *ns)
{
	return (tracker->now.attribution->announces & ANNOUNCES_REQUEST_END) &&
	       tracker->now.started && ticks_known(tracker, tracker->now.duration_ticks, ns);
}

bool tracker_started(struct tracker *tracker, uint8_t *opcode)
{
	if (!(tracker->now.attribution->announces & ANNOUNCES_REQUEST_END) ||
	    !tracker->now.started) {
		return false;
	}
	*opcode = tracker->now.start_opcode;
	return true;
}

uint32_t tracker_started_by(struct tracker *tracker)
{
	uint8_t opcode;

	return tracker_started(tracker, &opcode) ? tracker->now.start_process :
						   registry_unknown(tracker->options.registry);
}

bool tracker_on_cpu(struct tracker *tracker, uint64_t *ns)
{
	return (tracker->now.attribution->announces & ANNOUNCES_SWITCH) &&
	       ticks_known(tracker, tracker->now.switched.on_cpu, ns);
}

bool tracker_ready(struct tracker *tracker, uint64_t *ns)
{
	return (tracker->now.attribution->announces & ANNOUNCES_SWITCH) &&
	       ticks_known(tracker, tracker->now.switched.ready, ns);
}
