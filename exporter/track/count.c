/* SPDX-License-Identifier: MIT */
/*
 * Counts records without rules, once filters have accepted them: bytes of files, the most written
 * paths, and which processes caused the transfers of disks.
 */
#include "exporter/track/tracker_internal.h"

/* ---- bytes of files ---- */

static void count_file_bytes(struct tracker *tracker)
{
	uint32_t bytes;

	if (payload_u32(tracker, PAYLOAD_SIZE, &bytes)) {
		uint32_t volume = files_volume(&tracker->files, tracker_file(tracker));

		if (tracker->options.shares > 0) {
			tracker_publish_shares(tracker);
		}
		tracker_add(&tracker->file_bytes[FILE_BYTES_ALL], bytes);
		if (volume != registry_unknown(tracker->options.registry)) {
			tracker_add(&tracker->file_bytes[FILE_BYTES_WITH_VOLUME], bytes);
		}
	}
}

/* ---- causes of disk transfers ---- */

/* Reads the request or transfer of the current record. Returns false if its size is not known;
 * the file key and other members may be set nevertheless. */
static bool read_request(struct tracker *tracker, struct cause_request *request)
{
	uint32_t process_id;

	*request = (struct cause_request){ .thread = tracker->now.record->thread_id };
	payload_u64(tracker, PAYLOAD_FILE_KEY, &request->file);
	payload_u64(tracker, PAYLOAD_OFFSET, &request->offset);
	payload_u32(tracker, PAYLOAD_NUMBER, &request->flags);
	payload_u32(tracker, PAYLOAD_OWNER, &request->thread);
	request->process = tracker_process(tracker, &process_id);
	request->for_others = process_id == PROCESS_SYSTEM || process_id == ETW_RECORD_NO_ID;
	return payload_u32(tracker, PAYLOAD_SIZE, &request->bytes);
}

static void count_transfer(struct tracker *tracker)
{
	bool written = tracker->now.attribution->opcode == ETW_KERNEL_OPCODE_DISK_IO_WRITE;
	struct disk_cause *cause = &tracker->disk_cause;
	struct cause_part parts[CAUSE_RUNS];
	struct cause_request transfer;
	uint32_t disk;

	if (read_request(tracker, &transfer) && payload_u32(tracker, PAYLOAD_DISK, &disk)) {
		size_t count = written ? disk_cause_write(cause, &transfer, parts) :
					 disk_cause_read(cause, &transfer, parts);

		disk_cause_add(cause, written, disk, parts, count);
	}
}

static void note_file_use(struct tracker *tracker)
{
	struct disk_cause *cause = &tracker->disk_cause;
	struct cause_request request = { 0 };
	uint8_t opcode = tracker->now.attribution->opcode;

	if (opcode == ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE) {
		/* A name record belongs to no process. */
		payload_u64(tracker, PAYLOAD_FILE_KEY, &request.file);
	} else {
		read_request(tracker, &request); /* a request without a size still has the key */
	}
	switch (opcode) {
	case ETW_KERNEL_OPCODE_FILE_IO_READ:
	case ETW_KERNEL_OPCODE_FILE_IO_FLT_READ:
		disk_cause_file_read(cause, &request);
		break;
	case ETW_KERNEL_OPCODE_FILE_IO_WRITE:
	case ETW_KERNEL_OPCODE_FILE_IO_FLT_WRITE:
		disk_cause_file_write(cause, &request);
		break;
	case ETW_KERNEL_OPCODE_FILE_IO_FLUSH:
		disk_cause_file_flush(cause, request.file);
		break;
	case ETW_KERNEL_OPCODE_FILE_IO_RENAME:
		disk_cause_file_rename(cause, request.file);
		break;
	case ETW_KERNEL_OPCODE_FILE_IO_DELETE:
		disk_cause_file_delete(cause, request.file);
		break;
	case ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE:
		disk_cause_name_gone(cause, request.file);
		break;
	default:
		break;
	}
}

static void note_view(struct tracker *tracker)
{
	struct disk_cause *cause = &tracker->disk_cause;
	uint64_t key = 0, address = 0, info = 0;
	uint32_t process_id, process = tracker_process(tracker, &process_id);

	payload_u64(tracker, PAYLOAD_FILE_KEY, &key);
	if (!payload_u64(tracker, PAYLOAD_ADDRESS, &address) ||
	    !payload_u64(tracker, PAYLOAD_NUMBER, &info)) {
		return;
	}
	if (tracker->now.record->opcode == ETW_KERNEL_OPCODE_FILE_IO_UNMAP_FILE) {
		disk_cause_view_unmapped(cause, process_id, address);
	} else if (file_view_is_writable(info)) {
		disk_cause_view_mapped(cause, key, process_id, address, process);
	}
}

/* A process id starts or ends, so its views end: they belong to the process that had the id
 * before. */
static void note_id_change(struct tracker *tracker)
{
	uint32_t process_id;

	if (payload_u32(tracker, PAYLOAD_ABOUT, &process_id)) {
		disk_cause_process_ended(&tracker->disk_cause, process_id);
	}
}

static void count_causes(struct tracker *tracker)
{
	uint32_t announces = tracker->now.attribution->announces;

	if (announces & ANNOUNCES_DISK_BYTES) {
		count_transfer(tracker);
	} else if (announces & ANNOUNCES_FILE_USE) {
		note_file_use(tracker);
	} else if (announces & ANNOUNCES_VIEW) {
		note_view(tracker);
	} else if (announces & ANNOUNCES_ID_CHANGE) {
		note_id_change(tracker);
	} else {
		return;
	}
	tracker_publish_disk_cause(tracker);
}

void tracker_count(struct tracker *tracker)
{
	uint32_t announces = tracker->now.attribution->announces;
	uint32_t bytes, flags;

	if (tracker->options.top_paths) {
		top_paths_time(&tracker->top_paths, tracker->now.record->time);
	}
	if (tracker_is_repeated(tracker)) {
		return;
	}
	if (announces & ANNOUNCES_FILE_BYTES) {
		count_file_bytes(tracker);
	}
	count_causes(tracker);
	if (tracker->options.top_paths && (announces & ANNOUNCES_WRITE) &&
	    payload_u32(tracker, PAYLOAD_SIZE, &bytes) &&
	    payload_u32(tracker, PAYLOAD_NUMBER, &flags) && (flags & IO_PAGING) == 0) {
		top_paths_add(&tracker->top_paths,
			      &(const struct top_write){
				      .file = tracker_file(tracker),
				      .process = tracker_process(tracker, NULL),
				      .second_source = tracker->now.attribution->repeats != 0,
				      .bytes = bytes });
	}
}
