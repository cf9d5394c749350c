/* SPDX-License-Identifier: MIT */
/*
 * Moves what a record announces from its payload into the tables of the tracker.
 *
 * The attribution of the event class says what its events announce. For each announcement a
 * function below reads the fields and calls the table that stores it. A record can announce several
 * things: a thread record also names the service tag of the thread.
 *
 * In the first pass of a recording, records come in file order and only lifetimes are collected. In
 * the second pass, or live, they come in time order. A table that is complete then already has the
 * change, so its text is not even read. Functions that also set state gauges (processes, threads,
 * images, disks) do so in time order only, because the gauges must not show what only the first
 * pass has seen yet. A live session may deliver a change late. The state that it reports may then
 * be out of date, so it changes the gauges only if the table agrees.
 *
 * Source: docs/etl-format.md sections 16.1 to 16.3.
 */
#include <stdio.h>

#include "exporter/track/tracker_internal.h"

/* Reads a text of the current record as UTF-8, each of the three into its own scratch. The text is
 * empty if the payload does not contain it. */
static const struct etw_text *read_text(struct tracker *tracker, enum payload_field field)
{
	const struct attribution *attribution = tracker->now.attribution;
	struct etw_text *out = field == PAYLOAD_NAME        ? &tracker->scratch :
			       field == PAYLOAD_SECOND_NAME ? &tracker->second_scratch :
							      &tracker->third_scratch;
	int index = attribution->texts[field - PAYLOAD_NAME];
	struct etw_field_slice slice = { 0 };

	text_clear(out);
	if (index < 0) {
		return out;
	}
	etw_field_locate(attribution->schema, (unsigned)index, tracker->now.record, &slice);
	if (slice.at) {
		etw_field_text(&attribution->schema->fields[index], &slice, out);
	}
	if (out->failed) {
		text_clear(out);
	}
	return out;
}

/* Returns whether a change came so late that its instance is not the latest one of the id, or has
 * ended. */
static bool is_outdated(struct timeline *timeline, enum lifetime_change change, uint64_t id)
{
	return !timeline->table.frozen &&
	       lifetimes_running(&timeline->table, id) == (change == LIFETIME_STOP);
}

bool tracker_info_labels(void *context, uint32_t process_id, uint32_t *ids)
{
	struct tracker *tracker = context;
	struct intern *strings = registry_strings(tracker->options.registry);
	const struct identity *identity =
		processes_identity(&tracker->processes, process_id, tracker->now.record->raw_time);
	char text[16];
	int length;

	if (!identity) {
		return false;
	}
	length = snprintf(text, sizeof text, "%u", (unsigned)identity->terminal_session);
	ids[0] = tracker_label(tracker, process_id);
	ids[1] = processes_owner(&tracker->processes, identity, false);
	ids[2] = identity->terminal_session == NO_TERMINAL_SESSION ?
			 tracker->none :
			 intern_add(strings, text, (size_t)length);
	return true;
}

static void announce_info(struct tracker *tracker, enum lifetime_change change, uint32_t process_id)
{
	struct info_metric *info = &tracker->process_info;
	uint32_t ids[INFO_LABELS_MAX];

	if (change == LIFETIME_STOP) {
		info_metric_forget(info, process_id, INT64_MAX);
	} else if (tracker_info_labels(tracker, process_id, ids)) {
		info_metric_set(info, process_id, ids, LIFETIME_ALWAYS);
	}
}

/* Any event about a process can bring the names of accounts that were pending. It may be late, so
 * the labels are those of the latest process with an id, not of the one at its time. */
static void refresh_info(struct tracker *tracker)
{
	bool *names_came = &tracker->processes.identities.names_came;
	const struct etw_record *record = tracker->now.record;
	struct etw_record latest = *record;

	if (*names_came && tracker->options.process_info && !tracker->in_first_pass) {
		latest.raw_time = INT64_MAX;
		tracker->now.record = &latest;
		info_metric_refresh(&tracker->process_info, tracker_info_labels, tracker);
		tracker->now.record = record;
		*names_came = false;
	}
}

/* Sets the gauges of running processes. */
static void announce_running(struct tracker *tracker, enum lifetime_change change,
			     uint32_t process_id, uint32_t provider)
{
	if (tracker->options.process_gauges) {
		process_gauges_process(&tracker->gauges, change, process_id,
				       tracker_label(tracker, process_id), provider);
	}
	if (tracker->options.process_info) {
		announce_info(tracker, change, process_id);
	}
}

/* Without a first pass, the kernel's list of what exists decides, too, who reports a subject: its
 * first start may come after that of the provider. */
static void note_listed(struct tracker *tracker, enum kernel_subject subject)
{
	if (!tracker->options.live) {
		tracker->kernel_subjects |= subject;
	}
}

static void announce_process(struct tracker *tracker)
{
	enum lifetime_change change = tracker->now.attribution->change;
	uint32_t process_id;

	if (!payload_u32(tracker, PAYLOAD_ABOUT, &process_id) || process_id == ETW_RECORD_NO_ID) {
		return;
	}
	if (!tracker->processes.timeline.complete) {
		const struct etw_text *image = read_text(tracker, PAYLOAD_NAME);
		const struct etw_text *command_line = read_text(tracker, PAYLOAD_SECOND_NAME);
		const struct etw_text *sid = read_text(tracker, PAYLOAD_ACCOUNT);
		struct process_announced announced = { .image = image->data,
						       .image_size = image->size,
						       .command_line = command_line->data,
						       .command_line_size = command_line->size,
						       .sid = sid->data,
						       .sid_size = sid->size,
						       .parent_id = ETW_RECORD_NO_ID,
						       .terminal_session = NO_TERMINAL_SESSION };

		payload_u32(tracker, PAYLOAD_PARENT, &announced.parent_id);
		payload_u32(tracker, PAYLOAD_TERMINAL_SESSION, &announced.terminal_session);
		processes_announce(&tracker->processes, change, process_id,
				   tracker->now.record->raw_time, &announced);
		if (!tracker->in_first_pass) {
			tracker_process_changed(tracker, process_id);
			note_listed(tracker, SUBJECT_PROCESSES);
		}
		refresh_info(tracker);
	}
	if (tracker->in_first_pass ||
	    is_outdated(&tracker->processes.timeline, change, process_id)) {
		return;
	}
	announce_running(tracker, change, process_id, tracker->gauges.provider);
	if (change != LIFETIME_EXISTS) {
		info_metric_forget(&tracker->image_info, process_id,
				   change == LIFETIME_STOP ? INT64_MAX :
							     tracker->now.record->raw_time);
	}
}

static void announce_process_image(struct tracker *tracker)
{
	enum lifetime_change change = tracker->now.attribution->change;
	struct timeline *timeline = processes_of_provider(&tracker->processes);
	uint32_t process_id, parent_id = ETW_RECORD_NO_ID;
	uint32_t terminal_session = NO_TERMINAL_SESSION;

	if (!payload_u32(tracker, PAYLOAD_ABOUT, &process_id) || process_id == ETW_RECORD_NO_ID) {
		return;
	}
	if (!timeline->complete) {
		const struct etw_text *path = read_text(tracker, PAYLOAD_NAME);

		payload_u32(tracker, PAYLOAD_PARENT, &parent_id);
		payload_u32(tracker, PAYLOAD_TERMINAL_SESSION, &terminal_session);
		processes_announce_image(&tracker->processes, change, process_id,
					 tracker->now.record->raw_time, path->data, path->size,
					 parent_id, terminal_session);
		if (!tracker->in_first_pass) {
			tracker_process_changed(tracker, process_id);
		}
		refresh_info(tracker);
	}
	if (!tracker->in_first_pass && tracker_counts_images(tracker) &&
	    !is_outdated(timeline, change, process_id)) {
		announce_running(tracker, change, process_id, tracker->gauges.second_provider);
	}
}

/* Returns the place of a thread id, which is a multiple of 4. If another id takes the place, more
 * stacks than necessary are collected, and dropped when the pass ends. */
static uint32_t *announced_thread(struct tracker *tracker, uint32_t thread_id)
{
	return &tracker->announced_threads[thread_id / 4 % ANNOUNCED_THREADS];
}

static void announce_thread(struct tracker *tracker)
{
	enum lifetime_change change = tracker->now.attribution->change;
	int64_t time = tracker->now.record->raw_time;
	uint32_t process_id = ETW_RECORD_NO_ID;
	uint32_t thread_id;

	if (!payload_u32(tracker, PAYLOAD_THREAD, &thread_id)) {
		return;
	}
	payload_u32(tracker, PAYLOAD_ABOUT, &process_id);
	if (tracker->in_first_pass) {
		*announced_thread(tracker, thread_id) = thread_id;
	}
	if (!tracker->threads.timeline.complete) {
		threads_announce(&tracker->threads, change, thread_id, time, process_id);
		if (!tracker->in_first_pass) {
			tracker_thread_changed(tracker, thread_id);
			note_listed(tracker, SUBJECT_THREADS);
		}
	}
	if (tracker->in_first_pass || !tracker->options.process_gauges ||
	    thread_id == ETW_RECORD_NO_ID ||
	    (thread_id != 0 && is_outdated(&tracker->threads.timeline, change, thread_id))) {
		return;
	}
	process_id = threads_process(&tracker->threads, thread_id, time);
	process_gauges_thread(&tracker->gauges, change, thread_id, process_id,
			      process_id == ETW_RECORD_NO_ID ?
				      registry_unknown(tracker->options.registry) :
				      tracker_label(tracker, process_id));
}

static void announce_tag(struct tracker *tracker)
{
	const struct etw_record *record = tracker->now.record;
	uint32_t thread_id = record->thread_id;
	uint32_t tag;

	if (!payload_u32(tracker, PAYLOAD_TAG, &tag)) {
		return;
	}
	payload_u32(tracker, PAYLOAD_THREAD, &thread_id);
	if (thread_id != ETW_RECORD_NO_ID) {
		services_tag(&tracker->services, tracker->now.attribution->change, thread_id,
			     record->raw_time, tag);
	}
}

static void announce_service(struct tracker *tracker)
{
	uint32_t process_id, tag;

	if (payload_u32(tracker, PAYLOAD_ABOUT, &process_id) &&
	    payload_u32(tracker, PAYLOAD_TAG, &tag)) {
		const struct etw_text *name = read_text(tracker, PAYLOAD_NAME);

		services_name(&tracker->services, process_id, tag, name->data, name->size);
	}
}

static void announce_file_key(struct tracker *tracker)
{
	uint64_t key;

	if (!tracker->files.keys.complete && payload_u64(tracker, PAYLOAD_FILE_KEY, &key)) {
		const struct etw_text *path = read_text(tracker, PAYLOAD_NAME);

		if (tracker->now.learned) {
			files_found_key(&tracker->files, key, tracker->now.record->raw_time,
					tracker->observed_time, path->data, path->size);
			return;
		}
		files_name_key(&tracker->files, tracker->now.attribution->change, key,
			       tracker->now.record->raw_time, path->data, path->size);
	}
}

static void announce_file_object(struct tracker *tracker)
{
	uint64_t object;

	if (!tracker->files.objects.complete &&
	    payload_u64(tracker, PAYLOAD_FILE_OBJECT, &object)) {
		const struct etw_text *path = read_text(tracker, PAYLOAD_NAME);

		files_name_object(&tracker->files, object, tracker->now.record->raw_time,
				  path->data, path->size);
	}
}

static void announce_volume(struct tracker *tracker)
{
	const struct etw_text *nt_path = read_text(tracker, PAYLOAD_NAME);
	const struct etw_text *dos_path = read_text(tracker, PAYLOAD_SECOND_NAME);

	files_map_volume(&tracker->files, nt_path->data, nt_path->size, dos_path->data,
			 dos_path->size);
}

/* An image of process 0 is a driver; an image of another process may be its program file. */
static void announce_image(struct tracker *tracker)
{
	enum lifetime_change change = tracker->now.attribution->change;
	uint64_t base, size;
	uint32_t process_id;
	uint32_t checksum = 0;
	const struct etw_text *path;
	struct etw_text dos_path = { 0 };

	if (!payload_u32(tracker, PAYLOAD_ABOUT, &process_id) || process_id == ETW_RECORD_NO_ID) {
		return;
	}
	if (process_id == 0) {
		if ((tracker->options.features & TRACK_DRIVERS) &&
		    !tracker->drivers.timeline.complete &&
		    payload_u64(tracker, PAYLOAD_ADDRESS, &base) &&
		    payload_u64(tracker, PAYLOAD_SIZE, &size)) {
			path = read_text(tracker, PAYLOAD_NAME);
			drivers_announce(&tracker->drivers, change, base, size, path->data,
					 path->size, tracker->now.record->raw_time);
		}
	} else if (!tracker->in_first_pass && tracker->options.image_info &&
		   change != LIFETIME_STOP && !tracker_has_gone(tracker, process_id)) {
		payload_u32(tracker, PAYLOAD_CHECKSUM, &checksum);
		path = read_text(tracker, PAYLOAD_NAME);
		volumes_dos_path(&tracker->files.volumes, path->data, path->size, &dos_path);
		image_info_announce(&tracker->image_info, process_id,
				    tracker_label(tracker, process_id),
				    processes_image(&tracker->processes, process_id,
						    tracker->now.record->raw_time),
				    dos_path.data, dos_path.size, checksum,
				    tracker->now.record->raw_time);
		text_free(&dos_path);
	}
}

static void announce_disk(struct tracker *tracker)
{
	uint32_t disk;
	uint32_t bytes_per_sector = 0;

	if (!payload_u32(tracker, PAYLOAD_DISK, &disk)) {
		return;
	}
	disks_name(&tracker->disks, disk);
	if (!tracker->in_first_pass) {
		const struct etw_text *model = read_text(tracker, PAYLOAD_NAME);

		payload_u32(tracker, PAYLOAD_NUMBER, &bytes_per_sector);
		disks_show(&tracker->disks, disk, model->data, model->size, bytes_per_sector);
	}
}

static void announce_partition(struct tracker *tracker)
{
	const struct etw_text *drive = read_text(tracker, PAYLOAD_NAME);
	const struct etw_text *file_system = read_text(tracker, PAYLOAD_SECOND_NAME);
	uint32_t disk;
	uint32_t partition = 0;

	if (payload_u32(tracker, PAYLOAD_DISK, &disk)) {
		payload_u32(tracker, PAYLOAD_NUMBER, &partition);
		disks_show_volume(&tracker->disks, disk, partition, drive->data, drive->size,
				  file_system->data, file_system->size);
	}
}

static void announce_transfer(struct tracker *tracker)
{
	uint32_t disk;

	/* A live session describes its disks after their first transfers. */
	if (payload_u32(tracker, PAYLOAD_DISK, &disk) && !disks_named(&tracker->disks, disk) &&
	    (!tracker->options.live || disks_known(&tracker->disks))) {
		tracker_miss(tracker, MISS_DISK);
	}
}

/* The type of the id that a request's owner is, in the table of requests. */
enum { REQUEST_OF_PROCESS, REQUEST_OF_THREAD };

/* Reads the IRP, the key of a request. Returns false for repeated events: both sources of file
 * events report each request, and a start must not be paired with the end of the other source. */
static bool read_request_key(struct tracker *tracker, uint64_t *key)
{
	if (tracker_is_repeated(tracker) || !payload_u64(tracker, PAYLOAD_IRP, key)) {
		return false;
	}
	if (tracker->now.attribution->repeats) {
		*key = ~*key;
	}
	return true;
}

static void announce_request(struct tracker *tracker)
{
	const struct etw_record *record = tracker->now.record;
	struct recent_entry begin = { .time = record->raw_time,
				      .tag = tracker->now.attribution->opcode };

	if (!read_request_key(tracker, &begin.key)) {
		return;
	}
	tracker_process(tracker, &begin.owner);
	if (begin.owner == ETW_RECORD_NO_ID) {
		begin.owner_type = REQUEST_OF_THREAD;
		begin.owner = record->thread_id;
		payload_u32(tracker, PAYLOAD_OWNER, &begin.owner);
	}
	if (tracker->enabled & ANNOUNCES_FILE_KEY) {
		payload_u64(tracker, PAYLOAD_FILE_KEY, &begin.file_key);
		payload_u64(tracker, PAYLOAD_FILE_OBJECT, &begin.file_object);
	}
	recent_begin(&tracker->requests, &begin);
}

/* Returns the label id of the process that started a request. It is looked up at the end of the
 * request, because a name or thread may be announced after the start. */
static uint32_t request_process(struct tracker *tracker, const struct recent_entry *begin)
{
	uint32_t id = begin->owner;
	uint32_t label;

	if (begin->owner_type == REQUEST_OF_THREAD && id != ETW_RECORD_NO_ID) {
		id = threads_process(&tracker->threads, id, begin->time);
	}
	if (id == ETW_RECORD_NO_ID) {
		return registry_none(tracker->options.registry);
	}
	label = processes_label(&tracker->processes, id, begin->time, NULL);
	return label != INTERN_NONE ? label : registry_unknown(tracker->options.registry);
}

static void announce_request_end(struct tracker *tracker)
{
	struct tracker_record *now = &tracker->now;
	struct recent_entry begin;
	uint64_t irp;

	if (!read_request_key(tracker, &irp)) {
		return;
	}
	if (!recent_end(&tracker->requests, irp, now->record->raw_time, &begin)) {
		/* The start was not seen, which says which operation this was, and on which
		 * file. */
		tracker_miss(tracker, MISS_FILE);
		return;
	}
	now->started = true;
	now->start_opcode = begin.tag;
	now->start_process = request_process(tracker, &begin);
	now->started_at = begin.time;
	now->start_file_key = begin.file_key;
	now->start_file_object = begin.file_object;
}

static void announce_switch(struct tracker *tracker)
{
	const struct etw_record *record = tracker->now.record;
	uint32_t old_thread, new_thread;

	if (payload_u32(tracker, PAYLOAD_THREAD, &new_thread) &&
	    payload_u32(tracker, PAYLOAD_OLD_THREAD, &old_thread)) {
		scheduler_switch(&tracker->scheduler, record->processor, old_thread, new_thread,
				 record->raw_time, &tracker->now.switched);
	}
}

static void announce_ready(struct tracker *tracker)
{
	uint32_t thread_id;

	if (payload_u32(tracker, PAYLOAD_THREAD, &thread_id)) {
		scheduler_ready(&tracker->scheduler, thread_id, tracker->now.record->raw_time);
	}
}

/* Stacks are collected in the first pass only, and only for threads that no event has announced. */
void tracker_announce_stack(struct tracker *tracker)
{
	uint32_t thread_id, process_id;
	uint64_t time;

	if (payload_u32(tracker, PAYLOAD_THREAD, &thread_id) && thread_id != 0 &&
	    *announced_thread(tracker, thread_id) != thread_id &&
	    payload_u32(tracker, PAYLOAD_OWNER, &process_id) && process_id != ETW_RECORD_NO_ID &&
	    payload_u64(tracker, PAYLOAD_TIME, &time)) {
		stack_owners_add(&tracker->stack_owners, thread_id, (int64_t)time, process_id);
	}
}

static uint32_t label_of_process(void *context, uint32_t process_id)
{
	return tracker_label(context, process_id);
}

static void announce_memory(struct tracker *tracker)
{
	const struct etw_record *record = tracker->now.record;

	process_memory_read_event(&tracker->memory,
				  record->classic ? MEMORY_OF_KERNEL : MEMORY_OF_PROVIDER, record,
				  label_of_process, tracker);
}

typedef void announce_function(struct tracker *tracker);

#define ROW(announcement) [__builtin_ctz(announcement)] /* the number of the bit */

void tracker_announce(struct tracker *tracker, uint32_t announces)
{
	static announce_function *const rows[32] = {
		ROW(ANNOUNCES_PROCESS) = announce_process,
		ROW(ANNOUNCES_PROCESS_IMAGE) = announce_process_image,
		ROW(ANNOUNCES_THREAD) = announce_thread,
		ROW(ANNOUNCES_TAG) = announce_tag,
		ROW(ANNOUNCES_SERVICE) = announce_service,
		ROW(ANNOUNCES_FILE_KEY) = announce_file_key,
		ROW(ANNOUNCES_FILE_OBJECT) = announce_file_object,
		ROW(ANNOUNCES_VOLUME) = announce_volume,
		ROW(ANNOUNCES_REQUEST) = announce_request,
		ROW(ANNOUNCES_REQUEST_END) = announce_request_end,
		ROW(ANNOUNCES_IMAGE) = announce_image,
		ROW(ANNOUNCES_SWITCH) = announce_switch,
		ROW(ANNOUNCES_READY) = announce_ready,
		ROW(ANNOUNCES_DISK) = announce_disk,
		ROW(ANNOUNCES_PARTITION) = announce_partition,
		ROW(ANNOUNCES_TRANSFER) = announce_transfer,
		ROW(ANNOUNCES_MEMORY) = announce_memory,
	};

	while (announces != 0) {
		announce_function *announce = rows[__builtin_ctz(announces)];

		announces &= announces - 1;
		if (announce) {
			announce(tracker);
		}
	}
}
