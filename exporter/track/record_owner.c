/* SPDX-License-Identifier: MIT */
/*
 * The process and the file of the record that tracker_observe() was last called with.
 *
 * Both are resolved at the first look-up and cached until the next record, because several rules
 * use the same process, and many records match no rule at all. The attribution of the event class
 * says where the process id is: in the payload, in the header of the record, or with a thread,
 * which is the one that the payload names or the one that runs on the processor. The stack of a
 * sample may name the process of a thread that no event names. Process ids are reused, so the name
 * is that of the process that had the id at the time of the record. A record whose thread, process
 * or file no event has named is counted by its reason.
 *
 * Most records lead to one of a few processes, by the same id as a record shortly before. So the
 * last owners are cached, each with the times at which the id means it. When a process starts or
 * ends, the entries that lead to its id become void; when a thread does, the entry of its own id;
 * when a table evicts an instance, all entries. Only what the tables know is cached: an id that
 * leads to nothing is looked up each time, because it is counted each time.
 *
 * Source: docs/etl-format.md sections 16.1 and 16.3.
 */
#include "exporter/track/tracker_internal.h"

/* Returns the process id that an id in the payload leads to; ETW_RECORD_NO_ID if there is none. */
static NOINLINE uint32_t payload_process(struct tracker *tracker)
{
	uint32_t id;

	if (!payload_u32(tracker, PAYLOAD_OWNER, &id) || id == ETW_RECORD_NO_ID) {
		return ETW_RECORD_NO_ID;
	}
	if (tracker->now.attribution->owner != OWNER_PROCESS_ID) {
		uint32_t thread_id = id;
		int64_t time = tracker->now.record->raw_time;

		id = threads_process(&tracker->threads, thread_id, time);
		if (id == ETW_RECORD_NO_ID && tracker->now.attribution->is_sample) {
			id = stack_owners_find(&tracker->stack_owners, thread_id, time);
		}
		if (id == ETW_RECORD_NO_ID) {
			tracker_miss(tracker, MISS_THREAD);
		}
	}
	return id;
}

static inline uint32_t owner_process(struct tracker *tracker)
{
	const struct etw_record *record = tracker->now.record;
	enum owner owner = tracker->now.attribution->owner;
	uint32_t id = ETW_RECORD_NO_ID, thread_id = record->thread_id;

	if (owner == OWNER_PROCESS_ID || owner == OWNER_THREAD_ID ||
	    (owner == OWNER_THREAD_WITHOUT_HEADER && record->process_id == ETW_RECORD_NO_ID)) {
		id = payload_process(tracker);
	}
	if (id == ETW_RECORD_NO_ID) {
		id = record->process_id;
	}
	if (id == ETW_RECORD_NO_ID && owner == OWNER_RUNNING && thread_id == ETW_RECORD_NO_ID) {
		scheduler_running(&tracker->scheduler, record->processor, &thread_id);
	}
	if (id == ETW_RECORD_NO_ID && thread_id != ETW_RECORD_NO_ID) {
		id = threads_process(&tracker->threads, thread_id, record->raw_time);
		if (id == ETW_RECORD_NO_ID && (owner == OWNER_HEADER || owner == OWNER_RUNNING)) {
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

/* Returns whether the current record is a sample of a thread. A thread always has a process, so the
 * process of such a record is unknown, not absent. */
static bool has_unknown_thread(const struct tracker *tracker)
{
	uint32_t thread_id;

	return tracker->now.attribution->is_sample &&
	       payload_u32(tracker, PAYLOAD_OWNER, &thread_id) && thread_id != ETW_RECORD_NO_ID;
}

/* Resolves the process with the tables, without the cache. */
static NOINLINE void resolve_process(struct tracker *tracker)
{
	struct tracker_record *now = &tracker->now;

	now->instance = 0;
	now->process_id = owner_process(tracker);
	if (now->process_id == ETW_RECORD_NO_ID) {
		now->process = has_unknown_thread(tracker) ?
				       registry_unknown(tracker->options.registry) :
				       tracker->none;
		return;
	}
	now->process = processes_label(&tracker->processes, now->process_id, now->record->raw_time,
				       &now->instance);
	if (now->process == INTERN_NONE) {
		now->process = registry_unknown(tracker->options.registry);
		tracker_miss(tracker, MISS_PROCESS);
	}
}

/* ---- the last processes ---- */

#define OF_NOTHING (UINT64_C(3) << 32) /* the record has no id */
#define OF_UNKNOWN (UINT64_C(4) << 32) /* only resolve_process() can find the owner */

/* Returns the id in the payload with OF_PROCESS or OF_THREAD, or OF_UNKNOWN. */
static inline uint64_t payload_key(const struct etw_record *record,
				   const struct attribution *attribution, uint64_t of)
{
	uint32_t id;

	if (attribution->payload_owner_end > record->payload_size) {
		return OF_UNKNOWN;
	}
	id = etw_load_u32(record->payload + attribution->payload_owner_offset);
	return id != ETW_RECORD_NO_ID ? of | id : OF_UNKNOWN;
}

/* Returns what owner_process() would look at first: an id, or OF_NOTHING, or OF_UNKNOWN. */
static inline uint64_t owner_key(const struct tracker *tracker)
{
	const struct etw_record *record = tracker->now.record;
	const struct attribution *attribution = tracker->now.attribution;

	if (attribution->payload_owner != 0) {
		return payload_key(record, attribution, attribution->payload_owner);
	}
	if (record->process_id != ETW_RECORD_NO_ID) {
		return OF_PROCESS | record->process_id;
	}
	if (attribution->owner == OWNER_THREAD_WITHOUT_HEADER) {
		return payload_key(record, attribution, OF_THREAD);
	}
	if (record->thread_id != ETW_RECORD_NO_ID) {
		return OF_THREAD | record->thread_id;
	}
	return attribution->owner == OWNER_RUNNING ? OF_UNKNOWN : OF_NOTHING;
}

/* Ids of Windows are multiples of four, and no process and thread have the same id. */
static inline struct recent_owner *recent_owner(struct tracker *tracker, uint64_t key)
{
	return &tracker->recent_owners[(key >> 2) % RECENT_OWNERS];
}

void tracker_note_drops(struct tracker *tracker)
{
	/* Neither number falls, so the sum is unchanged only if both are. */
	tracker->drops =
		tracker->processes.timeline.table.drops + tracker->threads.timeline.table.drops;
}

void tracker_process_changed(struct tracker *tracker, uint32_t process_id)
{
	tracker_note_drops(tracker);
	for (size_t i = 0; i < RECENT_OWNERS; i++) {
		if (tracker->recent_owners[i].process_id == process_id) {
			tracker->recent_owners[i].key = 0;
		}
	}
}

void tracker_thread_changed(struct tracker *tracker, uint32_t thread_id)
{
	struct recent_owner *recent = recent_owner(tracker, OF_THREAD | thread_id);

	tracker_note_drops(tracker);
	if (recent->key == (OF_THREAD | thread_id)) {
		recent->key = 0;
	}
}

/* Caches the process that was found, if it was found by the key. */
static void keep_owner(struct tracker *tracker, uint64_t key)
{
	const struct tracker_record *now = &tracker->now;
	int64_t time = now->record->raw_time, from = INT64_MIN, to = INT64_MAX;
	struct recent_owner owner = { .key = key,
				      .drops = tracker->drops,
				      .process_id = (uint32_t)key,
				      .process = now->process,
				      .instance = now->instance };
	const struct lifetime *instance;

	/* Thread 0 always belongs to process 0. */
	if ((key & OF_THREAD) && (uint32_t)key != 0) {
		instance = lifetimes_during(&tracker->threads.timeline.table, (uint32_t)key, time,
					    &from, &to);
		owner.process_id = instance ? instance->value - 1 : ETW_RECORD_NO_ID;
	}
	instance = lifetimes_during(&tracker->processes.timeline.table, now->process_id, time,
				    &owner.from, &owner.to);
	if (owner.process_id != now->process_id || !instance || instance->value == 0) {
		return;
	}
	owner.from = owner.from > from ? owner.from : from;
	owner.to = owner.to < to ? owner.to : to;
	*recent_owner(tracker, key) = owner;
}

static NOINLINE uint32_t find_process(struct tracker *tracker, uint64_t key)
{
	resolve_process(tracker);
	if (key != OF_UNKNOWN && tracker->now.instance != 0) {
		keep_owner(tracker, key);
	}
	return tracker->now.process;
}

uint32_t tracker_process_label(struct tracker *tracker)
{
	struct tracker_record *now = &tracker->now;
	const struct recent_owner *recent;
	int64_t time = now->record->raw_time;
	uint64_t key;

	if (now->process_known) {
		return now->process;
	}
	now->process_known = true;
	key = owner_key(tracker);
	if (key == OF_NOTHING) {
		now->process = tracker->none;
		now->process_id = ETW_RECORD_NO_ID;
		now->instance = 0;
		return tracker->none;
	}
	recent = recent_owner(tracker, key);
	if (recent->key != key || recent->drops != tracker->drops || time < recent->from ||
	    time > recent->to) {
		return find_process(tracker, key);
	}
	now->process_id = recent->process_id;
	now->process = recent->process;
	now->instance = recent->instance;
	return now->process;
}

uint32_t tracker_process(struct tracker *tracker, uint32_t *process_id)
{
	uint32_t process = tracker_process_label(tracker);

	if (process_id) {
		*process_id = tracker->now.process_id;
	}
	return process;
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
	return process_id != ETW_RECORD_NO_ID && tracker_has_gone(tracker, process_id);
}

uint64_t tracker_instance(struct tracker *tracker)
{
	tracker_process(tracker, NULL);
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
	if ((attribution->announces & ANNOUNCES_PROCESS) || tracker->processes.merged) {
		ended = lifetimes_ended_at(&tracker->processes.timeline.table, id,
					   tracker->now.record->raw_time);
	}
	*process_id = id;
	*instance = ended ? ended->serial : 0;
	return true;
}

/* ---- files ---- */

/* Returns the file of the request that the current record ends, at the time of its start: its end
 * names no file, and a close or rename may have changed what the ids mean. */
static uint32_t find_started_file(struct tracker *tracker)
{
	const struct tracker_record *now = &tracker->now;
	uint32_t file = FILE_UNKNOWN;

	if (now->start_file_key != 0) {
		file = files_of_key(&tracker->files, now->start_file_key, now->started_at);
	}
	if (file == FILE_UNKNOWN && now->start_file_object != 0) {
		file = files_of_object(&tracker->files, now->start_file_object, now->started_at);
	}
	return file;
}

uint32_t tracker_find_file(struct tracker *tracker)
{
	int64_t time = tracker->now.record->raw_time;
	uint32_t file = FILE_UNKNOWN;
	uint64_t id;

	if (tracker_ends_request(tracker)) {
		return find_started_file(tracker);
	}
	if (payload_u64(tracker, PAYLOAD_FILE_KEY, &id)) {
		file = files_of_key(&tracker->files, id, time);
	}
	if (file == FILE_UNKNOWN && payload_u64(tracker, PAYLOAD_FILE_OBJECT, &id)) {
		file = files_of_object(&tracker->files, id, time);
	}
	return file;
}

uint32_t tracker_file(struct tracker *tracker)
{
	struct tracker_record *now = &tracker->now;

	if (now->file_known) {
		return now->file;
	}
	now->file = tracker_find_file(tracker);
	now->file_known = true;
	/* An end without its start has been counted (announce_request_end()). */
	if (now->file == FILE_UNKNOWN &&
	    ((now->attribution->announces & ANNOUNCES_REQUEST_END) == 0 || now->started)) {
		tracker_miss(tracker, MISS_FILE);
	}
	return now->file;
}
