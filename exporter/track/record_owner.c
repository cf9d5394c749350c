/* SPDX-License-Identifier: MIT */
/*
 * The process and the file of the record that tracker_observe() was last called with.
 *
 * Both are resolved at the first look-up and kept until the next record, because several rules use
 * the same process, and many records match no rule at all. The attribution of the event class says
 * where the process id is: in the payload, behind a thread id of the payload, or in the header of
 * the record. Process ids are reused, so the name is that of the instance that ran at the time of
 * the record. A record whose thread, process or file no event has named is counted by its reason.
 *
 * Source: docs/etl-format.md sections 16.1 and 16.3.
 */
#include "track/tracker_internal.h"

/* The process that an id in the payload leads to; RECORD_NO_ID: none. */
static uint32_t payload_process(struct tracker *tracker)
{
	uint32_t id;

	if (!payload_u32(tracker, PAYLOAD_OWNER, &id) || id == RECORD_NO_ID) {
		return RECORD_NO_ID;
	}
	if (tracker->now.attribution->owner != OWNER_PROCESS_ID) {
		id = threads_process(&tracker->threads, id, tracker->now.record->raw_time);
		if (id == RECORD_NO_ID) {
			tracker_miss(tracker, MISS_THREAD);
		}
	}
	return id;
}

static uint32_t owner_process(struct tracker *tracker)
{
	const struct event_record *record = tracker->now.record;
	enum owner owner = tracker->now.attribution->owner;
	uint32_t id = RECORD_NO_ID, thread_id = record->thread_id;

	if (owner == OWNER_PROCESS_ID || owner == OWNER_THREAD_ID ||
	    (owner == OWNER_THREAD_WITHOUT_HEADER && record->process_id == RECORD_NO_ID)) {
		id = payload_process(tracker);
	}
	if (id == RECORD_NO_ID) {
		id = record->process_id;
	}
	if (id == RECORD_NO_ID && owner == OWNER_RUNNING && thread_id == RECORD_NO_ID) {
		scheduler_running(&tracker->scheduler, record->processor, &thread_id);
	}
	if (id == RECORD_NO_ID && thread_id != RECORD_NO_ID) {
		id = threads_process(&tracker->threads, thread_id, record->raw_time);
		if (id == RECORD_NO_ID && (owner == OWNER_HEADER || owner == OWNER_RUNNING)) {
			tracker_miss(tracker, MISS_THREAD);
		}
	}
	return id;
}

uint32_t tracker_label(struct tracker *tracker, uint32_t process_id)
{
	uint32_t label = processes_label(&tracker->processes, process_id,
					 tracker->now.record->raw_time, NULL);

	return label != INTERN_NONE ? label : registry_unknown(tracker->options.registry);
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

bool tracker_has_gone(struct tracker *tracker, uint32_t process_id)
{
	struct lifetimes *table = &tracker->processes.timeline.table;
	const struct lifetime *instance =
		table->frozen ? NULL :
				lifetimes_at(table, process_id, tracker->now.record->raw_time);

	return instance && instance->end != LIFETIME_OPEN;
}

bool tracker_outlived(struct tracker *tracker)
{
	uint32_t process_id;

	tracker_process(tracker, &process_id);
	return process_id != RECORD_NO_ID && tracker_has_gone(tracker, process_id);
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
	const struct lifetime *ended = NULL;
	uint32_t id;

	if (!(attribution->announces & (ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE)) ||
	    attribution->change == LIFETIME_EXISTS || !payload_u32(tracker, PAYLOAD_ABOUT, &id)) {
		return false;
	}
	if (attribution->announces & ANNOUNCES_PROCESS) {
		ended = lifetimes_ended_at(&tracker->processes.timeline.table, id,
					   tracker->now.record->raw_time);
	}
	*process_id = id;
	*instance = ended ? ended->serial : 0;
	return true;
}

/* ---- files ---- */

uint32_t tracker_file(struct tracker *tracker)
{
	struct tracker_record *now = &tracker->now;
	uint64_t key, object;
	bool has_key, has_object;

	if (now->file_known) {
		return now->file;
	}
	has_key = payload_u64(tracker, PAYLOAD_FILE_KEY, &key);
	has_object = payload_u64(tracker, PAYLOAD_FILE_OBJECT, &object);
	now->file = files_find(&tracker->files, has_key ? &key : NULL, has_object ? &object : NULL,
			       now->record->raw_time);
	now->file_known = true;
	if (now->file == FILE_UNKNOWN) {
		tracker_miss(tracker, MISS_FILE);
	}
	return now->file;
}

uint32_t tracker_path_group(struct tracker *tracker)
{
	static const int64_t second_100ns = 10000000;
	uint32_t file = tracker_file(tracker);
	int64_t time = tracker->now.record->time;

	return files_group(&tracker->files, file,
			   time != RECORD_NO_TIME ? time / second_100ns : INT64_MIN);
}
