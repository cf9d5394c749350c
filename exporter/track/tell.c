/* SPDX-License-Identifier: MIT */
/*
 * What records tell the tracker, in the look-ahead and in order.
 */
#include <string.h>

#include "track/tracker_parts.h"

/* The text of a field, UTF-8; empty when the payload does not hold it. */
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

static void tell_process(struct tracker *tracker, const struct event_record *record,
			 const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t process_id;

	if (tracker->processes.timeline.complete ||
	    !reader_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == RECORD_NO_ID) {
		return;
	}
	read_text(attribution, attribution->name, record, &tracker->scratch);
	processes_tell(&tracker->processes, change, process_id, record->raw_time,
		       tracker->scratch.data, tracker->scratch.size);
}

static void tell_process_image(struct tracker *tracker, const struct event_record *record,
			       const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t process_id;

	if (tracker->processes.images.complete ||
	    !reader_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == RECORD_NO_ID) {
		return;
	}
	read_text(attribution, attribution->name, record, &tracker->scratch);
	processes_tell_image(&tracker->processes, change, process_id, record->raw_time,
			     tracker->scratch.data, tracker->scratch.size);
}

static void tell_thread(struct tracker *tracker, const struct event_record *record,
			const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t thread_id;
	uint32_t process_id = RECORD_NO_ID;

	if (tracker->threads.timeline.complete ||
	    !reader_u32(&attribution->thread, attribution->schema, record, &thread_id)) {
		return;
	}
	reader_u32(&attribution->about, attribution->schema, record, &process_id);
	threads_tell(&tracker->threads, change, thread_id, record->raw_time, process_id);
}

static void tell_file_key(struct tracker *tracker, const struct event_record *record,
			  const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint64_t key;

	if (!tracker->files.keys.complete &&
	    reader_u64(&attribution->file_key, attribution->schema, record, &key)) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		files_name_key(&tracker->files, change, key, record->raw_time,
			       tracker->scratch.data, tracker->scratch.size);
	}
}

static void tell_file_object(struct tracker *tracker, const struct event_record *record,
			     const struct attribution *attribution)
{
	uint64_t object;

	if (!tracker->files.objects.complete &&
	    reader_u64(&attribution->file_object, attribution->schema, record, &object)) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		files_name_object(&tracker->files, object, record->raw_time, tracker->scratch.data,
				  tracker->scratch.size);
	}
}

static void tell_volume(struct tracker *tracker, const struct event_record *record,
			const struct attribution *attribution)
{
	if (!tracker->files.mapped) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		read_text(attribution, attribution->name_too, record, &tracker->scratch_too);
		files_map_volume(&tracker->files, tracker->scratch.data, tracker->scratch.size,
				 tracker->scratch_too.data, tracker->scratch_too.size);
	}
}

static void tell_driver(struct tracker *tracker, const struct event_record *record,
			const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t process_id;
	uint64_t base, size;

	if (tracker->drivers.timeline.complete ||
	    !reader_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id != 0 ||
	    !reader_u64(&attribution->address, attribution->schema, record, &base) ||
	    !reader_u64(&attribution->size, attribution->schema, record, &size)) {
		return;
	}
	read_text(attribution, attribution->name, record, &tracker->scratch);
	drivers_tell(&tracker->drivers, change, base, size, tracker->scratch.data,
		     tracker->scratch.size, record->raw_time);
}

static void tell_tag(struct tracker *tracker, const struct event_record *record,
		     const struct attribution *attribution)
{
	enum lifetime_change change = (enum lifetime_change)attribution->change;
	uint32_t thread_id = record->thread_id, tag;

	if (tracker->services.tags.complete ||
	    !reader_u32(&attribution->tag, attribution->schema, record, &tag)) {
		return;
	}
	if (attribution->tells & TELLS_THREAD) {
		reader_u32(&attribution->thread, attribution->schema, record, &thread_id);
	}
	if (thread_id != RECORD_NO_ID) {
		services_tag(&tracker->services, change, thread_id, record->raw_time, tag);
	}
}

static void tell_service(struct tracker *tracker, const struct event_record *record,
			 const struct attribution *attribution)
{
	uint32_t process_id, tag;

	if (reader_u32(&attribution->about, attribution->schema, record, &process_id) &&
	    reader_u32(&attribution->tag, attribution->schema, record, &tag)) {
		read_text(attribution, attribution->name, record, &tracker->scratch);
		services_name(&tracker->services, process_id, tag, tracker->scratch.data,
			      tracker->scratch.size);
	}
}

/* Tables of what holds for a time, which a look-ahead can fill. */
static void tell_tables(struct tracker *tracker, const struct event_record *record,
			const struct attribution *attribution)
{
	uint32_t tells = attribution->tells;
	uint32_t disk;

	if (tells & TELLS_PROCESS) {
		tell_process(tracker, record, attribution);
	}
	if (tells & TELLS_PROCESS_IMAGE) {
		tell_process_image(tracker, record, attribution);
	}
	if (tells & TELLS_THREAD) {
		tell_thread(tracker, record, attribution);
	}
	if (tells & TELLS_TAG) {
		tell_tag(tracker, record, attribution);
	}
	if (tells & TELLS_SERVICE) {
		tell_service(tracker, record, attribution);
	}
	if (tells & TELLS_FILE_KEY) {
		tell_file_key(tracker, record, attribution);
	}
	if (tells & TELLS_FILE_OBJECT) {
		tell_file_object(tracker, record, attribution);
	}
	if (tells & TELLS_VOLUME) {
		tell_volume(tracker, record, attribution);
	}
	if ((tells & TELLS_IMAGE) && tracker->options.drivers_wanted) {
		tell_driver(tracker, record, attribution);
	}
	if ((tells & TELLS_DISK) &&
	    reader_u32(&attribution->disk, attribution->schema, record, &disk)) {
		disks_name(&tracker->disks, disk);
	}
}

/* ---- the look-ahead ---- */

static void begin_look_ahead(struct tracker *tracker)
{
	tracker->looking_ahead = true;
	processes_look_ahead(&tracker->processes);
	timeline_look_ahead(&tracker->threads.timeline);
	timeline_look_ahead(&tracker->services.tags);
	files_look_ahead(&tracker->files);
	drivers_look_ahead(&tracker->drivers);
}

void tracker_choose_ahead(const struct tracker *tracker, struct kernel_choice *choice)
{
	attribution_choose_ahead(tracker->asked, choice);
}

bool tracker_skips_ahead(const struct event_record *record)
{
	return !attribution_may_tell_ahead(record);
}

bool tracker_look_ahead(struct tracker *tracker, const struct event_record *record,
			const struct event_kind *kind)
{
	if (!tracker->looking_ahead) {
		begin_look_ahead(tracker);
	}
	if (!(kind->attribution->tells & TELLS_AHEAD)) {
		return false;
	}
	tell_tables(tracker, record, kind->attribution);
	return (kind->attribution->tells & TELLS_LATER) != 0;
}

void tracker_look_ahead_end(struct tracker *tracker)
{
	if (!tracker->looking_ahead) {
		begin_look_ahead(tracker); /* of a recording without records */
	}
	tracker->looking_ahead = false;
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

	if (!reader_u32(&attribution->about, attribution->schema, record, &process_id) ||
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

	if (!reader_u32(&attribution->thread, attribution->schema, record, &thread_id) ||
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
	    !reader_u32(&attribution->about, attribution->schema, record, &process_id) ||
	    process_id == 0 || process_id == RECORD_NO_ID) {
		return;
	}
	reader_u32(&attribution->checksum, attribution->schema, record, &checksum);
	read_text(attribution, attribution->name, record, &tracker->scratch);
	image_info_tell(&tracker->image_info, process_id, label_now(tracker, process_id),
			tracker->scratch.data, tracker->scratch.size, checksum);
}

static void show_disk(struct tracker *tracker, const struct event_record *record,
		      const struct attribution *attribution)
{
	uint32_t disk;
	uint32_t number = 0;

	if (!reader_u32(&attribution->disk, attribution->schema, record, &disk)) {
		return;
	}
	reader_u32(&attribution->number, attribution->schema, record, &number);
	read_text(attribution, attribution->name, record, &tracker->scratch);
	if (attribution->tells & TELLS_DISK) {
		disks_show(&tracker->disks, disk, tracker->scratch.data, tracker->scratch.size,
			   number);
	} else {
		read_text(attribution, attribution->name_too, record, &tracker->scratch_too);
		disks_show_volume(&tracker->disks, disk, number, tracker->scratch.data,
				  tracker->scratch.size, tracker->scratch_too.data,
				  tracker->scratch_too.size);
	}
}

/* State that the gauges show: it follows the events and does not know what a look-ahead saw. */
static void show(struct tracker *tracker, const struct event_record *record,
		 const struct attribution *attribution)
{
	uint32_t tells = attribution->tells;

	if (tells & TELLS_PROCESS) {
		show_process(tracker, record, attribution);
	}
	if ((tells & TELLS_THREAD) && tracker->options.process_gauges) {
		show_thread(tracker, record, attribution);
	}
	if ((tells & TELLS_IMAGE) && tracker->options.image_info) {
		show_image(tracker, record, attribution);
	}
	if (tells & (TELLS_DISK | TELLS_PARTITION)) {
		show_disk(tracker, record, attribution);
	}
}

static void tell_request(struct tracker *tracker, const struct event_record *record,
			 const struct attribution *attribution)
{
	struct recent_entry begin;
	uint64_t irp;

	if (!reader_u64(&attribution->irp, attribution->schema, record, &irp)) {
		return;
	}
	if (attribution->tells & TELLS_REQUEST) {
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
		tracker_miss(tracker,
			     MISS_FILE); /* what it ended, and on which file, was not seen */
	}
}

static void tell_scheduler(struct tracker *tracker, const struct event_record *record,
			   const struct attribution *attribution)
{
	uint32_t thread_id, old_thread;

	if (!reader_u32(&attribution->thread, attribution->schema, record, &thread_id)) {
		return;
	}
	if (attribution->tells & TELLS_READY) {
		scheduler_ready(&tracker->scheduler, thread_id, record->raw_time);
	} else if (reader_u32(&attribution->old_thread, attribution->schema, record, &old_thread)) {
		scheduler_switch(&tracker->scheduler, record->processor, old_thread, thread_id,
				 record->raw_time, &tracker->now.switched);
	}
}

static void tell_transfer(struct tracker *tracker, const struct event_record *record,
			  const struct attribution *attribution)
{
	uint32_t disk;

	if (reader_u32(&attribution->disk, attribution->schema, record, &disk) &&
	    !disks_named(&tracker->disks, disk)) {
		tracker_miss(tracker, MISS_DISK);
	}
}

static void tell(struct tracker *tracker, const struct event_record *record,
		 const struct attribution *attribution)
{
	uint32_t tells = attribution->tells;

	if (tells & TELLS_TRANSFER) {
		tell_transfer(tracker, record, attribution);
		return; /* such kinds tell nothing else, and are the most frequent of all that do */
	}
	if (tells & (TELLS_SWITCH | TELLS_READY)) {
		tell_scheduler(tracker, record, attribution);
		return;
	}
	if (tells & (TELLS_REQUEST | TELLS_REQUEST_END)) {
		tell_request(tracker, record, attribution);
		tracker_publish_requests(tracker);
	}
	if (tells & (TELLS_AHEAD | TELLS_PARTITION)) {
		tell_tables(tracker, record, attribution);
		show(tracker, record, attribution);
		tracker_publish(tracker);
	}
}

void tracker_observe(struct tracker *tracker, const struct event_record *record,
		     const struct event_kind *kind)
{
	const struct attribution *attribution = kind->attribution;
	struct tracker_record *now = &tracker->now;

	now->record = record;
	now->attribution = attribution;
	now->process_known = false;
	now->file_known = false;
	if (attribution->tells != 0) {
		now->started = false;
		now->switched = (struct scheduler_switch){ UINT64_MAX, UINT64_MAX };
		tell(tracker, record, attribution);
	}
}

/* ---- what a live session found ---- */

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
	if (tracker->options.files_wanted) {
		files_map_volume(&tracker->files, nt_path, strlen(nt_path), dos_path,
				 strlen(dos_path));
	}
}

size_t tracker_unseen_processes(struct tracker *tracker)
{
	return processes_unseen(&tracker->processes);
}
