/* SPDX-License-Identifier: MIT */
/*
 * The process and the file of the record that tracker_observe() was last called with.
 *
 * Both are resolved when they are first needed and kept until the next record, because several
 * rules need the same value, and for many records no rule needs it. A process id comes from the
 * payload where the event class has one, else from the record's header, else from the thread; its
 * name is that of the instance that ran at the record's time, as ids are reused. What rules read
 * beyond these two is in derived_fields.c.
 *
 * Source: docs/etl-format.md sections 16.1 and 16.3.
 */
#include "track/tracker_internal.h"

/* The process id that the payload determines; RECORD_NO_ID: none. */
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
	    (owner == OWNER_THREAD_IF_NEEDED && record->process_id == RECORD_NO_ID)) {
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

/* ---- files ---- */

uint32_t tracker_file(struct tracker *tracker)
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
		top_paths_add(&tracker->top_paths, tracker_file(tracker),
			      tracker_process(tracker, NULL), bytes);
	}
}

void tracker_end(struct tracker *tracker)
{
	top_paths_end(&tracker->top_paths);
}
