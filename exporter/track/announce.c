/* SPDX-License-Identifier: MIT */
/*
 * Reads announcements from records into the tables of the tracker, in the first pass and in time
 * order.
 *
 * attribution.c has found which announcements a record has and where their fields are. Lifetimes of
 * processes, threads, files, drivers and tags go into tables that the first pass can complete;
 * such a table ignores the same announcements in the second pass. Everything else depends on the
 * order of events and is only collected in time order: requests, the scheduler, and the state that
 * gauges show. Texts are read into two buffers of the tracker that are reused for each record. In a
 * live session, the tables also get the processes, threads and drives that exist at its start.
 */
#include <string.h>

#include "track/tracker_internal.h"

/* The text of a field in UTF-8; empty if the payload does not contain it. */
static void read_text(const struct attribution *attribution, int16_t field,
		      const struct event_record *record, struct text *out)
{
	struct field_slice slice = { 0 };

	text_clear(out);
	if (field < 0 || !attribution->schema) {
		return;
	}
	field_locate(attribution->schema, (unsigned)field, record, &slice);
	if (slice.at) {
		field_text(&attribution->schema->fields[field], &slice, out);
	}
	if (out->failed) {
		text_clear(out);
	}
}

static void announce_process(struct tracker *tracker, const struct event_record *record,
			     const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t process_id;

	if (tracker->processes.timeline.complete ||
	    !field_read_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == RECORD_NO_ID) {
		return;
	}
	read_text(attribution, attribution->name, record, &tracker->scratch);
	processes_announce(&tracker->processes, change, process_id, record->raw_time,
			   tracker->scratch.data, tracker->scratch.size);
}

static void announce_process_image(struct tracker *tracker, const struct event_record *record,
				   const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t process_id;

	if (tracker->processes.images.complete ||
	    !field_read_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == RECORD_NO_ID) {
		return;
	}
	read_text(attribution, attribution->name, record, &tracker->scratch);
	processes_announce_image(&tracker->processes, change, process_id, record->raw_time,
				 tracker->scratch.data, tracker->scratch.size);
}

static void announce_thread(struct tracker *tracker, const struct event_record *record,
			    const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t thread_id;
	uint32_t process_id = RECORD_NO_ID;

	if (tracker->threads.timeline.complete ||
	    !field_read_u32(&attribution->thread, attribution->schema, record, &thread_id)) {
		return;
	}
	field_read_u32(&attribution->about, attribution->schema, record, &process_id);
	threads_announce(&tracker->threads, change, thread_id, record->raw_time, process_id);
}

static void announce_file_key(struct tracker *tracker, const struct event_record *record,
			      const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint64_t key;

	if (!tracker->files.keys.complete &&
	    field_read_u64(&attribution->file_key, attribution->schema, record, &key)) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		files_name_key(&tracker->files, change, key, record->raw_time,
			       tracker->scratch.data, tracker->scratch.size);
	}
}

static void announce_file_object(struct tracker *tracker, const struct event_record *record,
				 const struct attribution *attribution)
{
	uint64_t object;

	if (!tracker->files.objects.complete &&
	    field_read_u64(&attribution->file_object, attribution->schema, record, &object)) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		files_name_object(&tracker->files, object, record->raw_time, tracker->scratch.data,
				  tracker->scratch.size);
	}
}

static void announce_volume(struct tracker *tracker, const struct event_record *record,
			    const struct attribution *attribution)
{
	if (!tracker->files.mapped) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		read_text(attribution, attribution->name_too, record, &tracker->scratch_too);
		files_map_volume(&tracker->files, tracker->scratch.data, tracker->scratch.size,
				 tracker->scratch_too.data, tracker->scratch_too.size);
	}
}

static void announce_driver(struct tracker *tracker, const struct event_record *record,
			    const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t process_id;
	uint64_t base, size;

	if (tracker->drivers.timeline.complete ||
	    !field_read_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id != 0 ||
	    !field_read_u64(&attribution->address, attribution->schema, record, &base) ||
	    !field_read_u64(&attribution->size, attribution->schema, record, &size)) {
		return;
	}
	read_text(attribution, attribution->name, record, &tracker->scratch);
	drivers_announce(&tracker->drivers, change, base, size, tracker->scratch.data,
			 tracker->scratch.size, record->raw_time);
}

static void announce_tag(struct tracker *tracker, const struct event_record *record,
			 const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t thread_id = record->thread_id, tag;

	if (tracker->services.tags.complete ||
	    !field_read_u32(&attribution->tag, attribution->schema, record, &tag)) {
		return;
	}
	if (attribution->announces & ANNOUNCES_THREAD) {
		field_read_u32(&attribution->thread, attribution->schema, record, &thread_id);
	}
	if (thread_id != RECORD_NO_ID) {
		services_tag(&tracker->services, change, thread_id, record->raw_time, tag);
	}
}

static void announce_service(struct tracker *tracker, const struct event_record *record,
			     const struct attribution *attribution)
{
	uint32_t process_id, tag;

	if (field_read_u32(&attribution->about, attribution->schema, record, &process_id) &&
	    field_read_u32(&attribution->tag, attribution->schema, record, &tag)) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		services_name(&tracker->services, process_id, tag, tracker->scratch.data,
			      tracker->scratch.size);
	}
}

/* The tables of lifetimes, which the first pass can fill. */
static void collect(struct tracker *tracker, const struct event_record *record,
		    const struct attribution *attribution)
{
	uint32_t announces = attribution->announces;
	uint32_t disk;

	if (announces & ANNOUNCES_PROCESS) {
		announce_process(tracker, record, attribution);
	}
	if (announces & ANNOUNCES_PROCESS_IMAGE) {
		announce_process_image(tracker, record, attribution);
	}
	if (announces & ANNOUNCES_THREAD) {
		announce_thread(tracker, record, attribution);
	}
	if (announces & ANNOUNCES_TAG) {
		announce_tag(tracker, record, attribution);
	}
	if (announces & ANNOUNCES_SERVICE) {
		announce_service(tracker, record, attribution);
	}
	if (announces & ANNOUNCES_FILE_KEY) {
		announce_file_key(tracker, record, attribution);
	}
	if (announces & ANNOUNCES_FILE_OBJECT) {
		announce_file_object(tracker, record, attribution);
	}
	if (announces & ANNOUNCES_VOLUME) {
		announce_volume(tracker, record, attribution);
	}
	if ((announces & ANNOUNCES_IMAGE) && (tracker->options.features & TRACK_DRIVERS)) {
		announce_driver(tracker, record, attribution);
	}
	if ((announces & ANNOUNCES_DISK) &&
	    field_read_u32(&attribution->disk, attribution->schema, record, &disk)) {
		disks_name(&tracker->disks, disk);
	}
}

/* ---- the first pass ---- */

static void begin_first_pass(struct tracker *tracker)
{
	tracker->in_first_pass = true;
	processes_begin_first_pass(&tracker->processes);
	timeline_begin_first_pass(&tracker->threads.timeline);
	timeline_begin_first_pass(&tracker->services.tags);
	files_begin_first_pass(&tracker->files);
	drivers_begin_first_pass(&tracker->drivers);
}

void tracker_choose_ahead(const struct tracker *tracker, struct kernel_choice *choice)
{
	attribution_choose_first_pass(tracker->requested, choice);
}

bool tracker_skips_ahead(const struct event_record *record)
{
	return !attribution_may_announce(record);
}

bool tracker_first_pass(struct tracker *tracker, const struct event_record *record,
			const struct event_class *class)
{
	if (!tracker->in_first_pass) {
		begin_first_pass(tracker);
	}
	if (!(class->attribution->announces & ANNOUNCES_IN_FIRST_PASS)) {
		return false;
	}
	collect(tracker, record, class->attribution);
	return (class->attribution->announces & ANNOUNCES_LATER) != 0;
}

void tracker_first_pass_end(struct tracker *tracker)
{
	if (!tracker->in_first_pass) {
		begin_first_pass(tracker); /* the recording has no records */
	}
	tracker->in_first_pass = false;
	processes_build(&tracker->processes);
	threads_build(&tracker->threads);
	services_build(&tracker->services);
	files_build(&tracker->files);
	drivers_build(&tracker->drivers);
	tracker_publish(tracker);
}

/* ---- in order ---- */

static uint32_t label_now(struct tracker *tracker, uint32_t process_id)
{
	uint32_t label = processes_label(&tracker->processes, process_id,
					 tracker->now.record->raw_time, NULL);

	return label != INTERN_NONE ? label : registry_unknown(tracker->options.registry);
}

static void show_process(struct tracker *tracker, const struct event_record *record,
			 const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t process_id;

	if (!field_read_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == RECORD_NO_ID) {
		return;
	}
	if (tracker->options.process_gauges) {
		process_gauges_process(&tracker->gauges, change, process_id,
				       label_now(tracker, process_id));
	}
	if (change != LIFETIME_EXISTS) {
		image_info_forget(&tracker->image_info, process_id);
	}
}

static void show_thread(struct tracker *tracker, const struct event_record *record,
			const struct attribution *attribution)
{
	uint32_t process_id, thread_id;

	if (!field_read_u32(&attribution->thread, attribution->schema, record, &thread_id) ||
	    thread_id == RECORD_NO_ID) {
		return;
	}
	process_id = threads_process(&tracker->threads, thread_id, record->raw_time);
	process_gauges_thread(&tracker->gauges, (enum lifetime_change)attribution->change,
			      thread_id, process_id,
			      process_id == RECORD_NO_ID ?
				      registry_unknown(tracker->options.registry) :
				      label_now(tracker, process_id));
}

static void show_image(struct tracker *tracker, const struct event_record *record,
		       const struct attribution *attribution)
{
	uint32_t process_id;
	uint32_t checksum = 0;

	if (attribution->change == LIFETIME_STOP ||
	    !field_read_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == 0 || process_id == RECORD_NO_ID) {
		return;
	}
	field_read_u32(&attribution->checksum, attribution->schema, record, &checksum);
	read_text(attribution, attribution->name, record, &tracker->scratch);
	image_info_announce(&tracker->image_info, process_id, label_now(tracker, process_id),
			    tracker->scratch.data, tracker->scratch.size, checksum);
}

static void show_disk(struct tracker *tracker, const struct event_record *record,
		      const struct attribution *attribution)
{
	uint32_t disk;
	uint32_t number = 0;

	if (!field_read_u32(&attribution->disk, attribution->schema, record, &disk)) {
		return;
	}
	field_read_u32(&attribution->number, attribution->schema, record, &number);
	read_text(attribution, attribution->name, record, &tracker->scratch);
	if (attribution->announces & ANNOUNCES_DISK) {
		disks_show(&tracker->disks, disk, tracker->scratch.data, tracker->scratch.size,
			   number);
	} else {
		read_text(attribution, attribution->name_too, record, &tracker->scratch_too);
		disks_show_volume(&tracker->disks, disk, number, tracker->scratch.data,
				  tracker->scratch.size, tracker->scratch_too.data,
				  tracker->scratch_too.size);
	}
}

/* The state that gauges show. It follows the events in time order and ignores the first pass. */
static void show(struct tracker *tracker, const struct event_record *record,
		 const struct attribution *attribution)
{
	uint32_t announces = attribution->announces;

	if (announces & ANNOUNCES_PROCESS) {
		show_process(tracker, record, attribution);
	}
	if ((announces & ANNOUNCES_THREAD) && tracker->options.process_gauges) {
		show_thread(tracker, record, attribution);
	}
	if ((announces & ANNOUNCES_IMAGE) && tracker->options.image_info) {
		show_image(tracker, record, attribution);
	}
	if (announces & (ANNOUNCES_DISK | ANNOUNCES_PARTITION)) {
		show_disk(tracker, record, attribution);
	}
}

static void announce_request(struct tracker *tracker, const struct event_record *record,
			     const struct attribution *attribution)
{
	struct recent_entry begin;
	uint64_t irp;

	if (!field_read_u64(&attribution->irp, attribution->schema, record, &irp)) {
		return;
	}
	if (attribution->announces & ANNOUNCES_REQUEST) {
		recent_begin(&tracker->requests, irp, record->raw_time, record->opcode,
			     tracker_process(tracker, NULL));
	} else if (recent_end(&tracker->requests, irp, &begin)) {
		tracker->now.started = true;
		tracker->now.start_opcode = begin.tag;
		tracker->now.start_process = begin.owner;
		tracker->now.duration_ticks =
			record->raw_time >= begin.time ?
				(uint64_t)record->raw_time - (uint64_t)begin.time :
				UINT64_MAX;
	} else {
		/* The start of the request, which has the file, was not seen. */
		tracker_miss(tracker, MISS_FILE);
	}
}

static void announce_scheduler(struct tracker *tracker, const struct event_record *record,
			       const struct attribution *attribution)
{
	uint32_t thread_id, old_thread;

	if (!field_read_u32(&attribution->thread, attribution->schema, record, &thread_id)) {
		return;
	}
	if (attribution->announces & ANNOUNCES_READY) {
		scheduler_ready(&tracker->scheduler, thread_id, record->raw_time);
	} else if (field_read_u32(&attribution->old_thread, attribution->schema, record,
				  &old_thread)) {
		scheduler_switch(&tracker->scheduler, record->processor, old_thread, thread_id,
				 record->raw_time, &tracker->now.switched);
	}
}

static void announce_transfer(struct tracker *tracker, const struct event_record *record,
			      const struct attribution *attribution)
{
	uint32_t disk;

	if (field_read_u32(&attribution->disk, attribution->schema, record, &disk) &&
	    !disks_named(&tracker->disks, disk)) {
		tracker_miss(tracker, MISS_DISK);
	}
}

static void announce(struct tracker *tracker, const struct event_record *record,
		     const struct attribution *attribution)
{
	uint32_t announces = attribution->announces;

	if (announces & ANNOUNCES_TRANSFER) {
		announce_transfer(tracker, record, attribution);
		return; /* such events announce nothing else, and they are the most frequent ones */
	}
	if (announces & (ANNOUNCES_SWITCH | ANNOUNCES_READY)) {
		announce_scheduler(tracker, record, attribution);
		return;
	}
	if (announces & (ANNOUNCES_REQUEST | ANNOUNCES_REQUEST_END)) {
		announce_request(tracker, record, attribution);
		tracker_publish_requests(tracker);
	}
	if (announces & (ANNOUNCES_IN_FIRST_PASS | ANNOUNCES_PARTITION)) {
		collect(tracker, record, attribution);
		show(tracker, record, attribution);
		tracker_publish(tracker);
	}
}

void tracker_observe(struct tracker *tracker, const struct event_record *record,
		     const struct event_class *class)
{
	const struct attribution *attribution = class->attribution;
	struct tracker_record *now = &tracker->now;

	now->record = record;
	now->attribution = attribution;
	now->process_known = false;
	now->file_known = false;
	if (attribution->announces != 0) {
		now->started = false;
		now->switched = (struct scheduler_switch){ UINT64_MAX, UINT64_MAX };
		announce(tracker, record, attribution);
	}
}

/* ---- what exists when a live session starts ---- */

void tracker_name_process(struct tracker *tracker, uint32_t process_id, const char *name,
			  size_t size)
{
	processes_found(&tracker->processes, process_id, name, size);
}

void tracker_own_thread(struct tracker *tracker, uint32_t thread_id, uint32_t process_id)
{
	threads_found(&tracker->threads, thread_id, process_id);
}

void tracker_map_volume(struct tracker *tracker, const char *nt_path, const char *dos_path)
{
	if (tracker->options.features & TRACK_FILES) {
		files_map_volume(&tracker->files, nt_path, strlen(nt_path), dos_path,
				 strlen(dos_path));
	}
}

size_t tracker_unseen_processes(struct tracker *tracker)
{
	return processes_unseen(&tracker->processes);
}
