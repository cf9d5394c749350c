/* SPDX-License-Identifier: MIT */
/*
 * The log file of a session: a recording (.etl) into which each buffer goes when it is flushed.
 *
 * A session may write a file beside real time. Both get the same buffers: a buffer of the session
 * becomes a buffer of the file, so the file holds the runs of its processors interleaved, as
 * Windows writes them (docs/etl-format.md sections 1 and 7). Records get the headers that the
 * kernel uses: events of kernel classes have a group instead of a GUID, and a short header where
 * the event has no thread. The logfile header is completed when the session stops.
 *
 * A file has a maximum, and its disk has an end. What happens to the session when the maximum is
 * reached is documented in two ways, so the machine has a switch for it; a buffer that no disk
 * takes is lost to the file alone, and counted in LogBuffersLost.
 *
 * Source: "EVENT_TRACE_PROPERTIES structure" (LogFileNameOffset, MaximumFileSize), "StartTraceW
 * function", "ControlTraceW function", "Logging Mode Constants", Microsoft Learn.
 */
#include "tests/fake_etw/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "etl/writer.h"
#include "source/kernel_group.h"

enum {
	UTF8_PATH = 3 * FAKE_NAME + 1,
	ITEMS_MAX = 64,
	LOG_PROCESSORS = 1024,   /* more than the machine has: those of recordings that it plays */
	MESSAGE_HAS_GUID = 0x02, /* TRACE_MESSAGE_*, evntrace.h */
	MESSAGE_HAS_TIME = 0x10,
	MESSAGE_HAS_IDS = 0x20,
	MESSAGE_POINTER32 = 0x40,
	MESSAGE_POINTER64 = 0x80,
};

#define MEGABYTE      (UINT64_C(1) << 20)
#define SPARE_ON_DISK (200 * MEGABYTE) /* that a start wants besides the file */

struct fake_log_file {
	struct etl_writer *writer; /* owned */
	WCHAR path[FAKE_NAME + 1];
	uint64_t maximum; /* bytes; 0: none */
	bool full;
};

/* ---- one record ---- */

/* The group of a kernel record with this class and opcode. */
static bool kernel_group_of(const GUID *guid, uint8_t opcode, uint8_t *group)
{
	for (uint8_t i = 0; i < KERNEL_GROUPS; i++) {
		if (!fake_guid_equal(guid, &fake_no_guid) &&
		    memcmp(kernel_record_guid(i, opcode), guid, sizeof(*guid)) == 0) {
			*group = i;
			return true;
		}
	}
	return false;
}

static enum record_type type_of(const EVENT_HEADER *header, uint8_t *group)
{
	if ((header->Flags & EVENT_HEADER_FLAG_TRACE_MESSAGE) != 0) {
		return RECORD_MESSAGE;
	}
	if ((header->Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) == 0) {
		return RECORD_EVENT;
	}
	/* A short header has no place for a level. */
	if (header->EventDescriptor.Level != 0 ||
	    !kernel_group_of(&header->ProviderId, header->EventDescriptor.Opcode, group)) {
		return RECORD_FULL;
	}
	return header->ThreadId == UINT32_MAX && header->ProcessId == UINT32_MAX ? RECORD_PERFINFO :
										   RECORD_SYSTEM;
}

static size_t read_items(const struct fake_stored *stored, struct etl_out_item items[ITEMS_MAX])
{
	const uint8_t *at = (const uint8_t *)(stored + 1);
	size_t count = 0;

	while (count < stored->item_count && count < ITEMS_MAX) {
		struct fake_item item;

		memcpy(&item, at, sizeof(item));
		items[count++] = (struct etl_out_item){ item.type, item.size, at + sizeof(item) };
		at += sizeof(item) + item.padded;
	}
	return count;
}

static void add(struct etl_writer *writer, const struct fake_stored *stored)
{
	const EVENT_HEADER *header = &stored->header;
	const EVENT_DESCRIPTOR *descriptor = &header->EventDescriptor;
	bool narrow = (header->Flags & EVENT_HEADER_FLAG_32_BIT_HEADER) != 0;
	struct etl_out_item items[ITEMS_MAX];
	struct guid provider, activity;
	struct etl_out_record record = {
		.pointer_size = narrow ? 4 : 8,
		.processor = stored->context.ProcessorIndex % LOG_PROCESSORS,
		.raw_time = header->TimeStamp.QuadPart,
		.process_id = header->ProcessId,
		.thread_id = header->ThreadId,
		.kernel_time = header->KernelTime,
		.user_time = header->UserTime,
		.opcode = descriptor->Opcode,
		.version = descriptor->Version,
		.level = descriptor->Level,
		.channel = descriptor->Channel,
		.id = descriptor->Id,
		.task = descriptor->Task,
		.keyword = descriptor->Keyword,
		.property = header->EventProperty,
		.provider = &provider,
		.activity = &activity,
		.items = items,
		.payload = (const uint8_t *)(stored + 1) + stored->items_size,
		.payload_size = stored->payload_size,
	};

	memcpy(&provider, &header->ProviderId, sizeof(provider));
	memcpy(&activity, &header->ActivityId, sizeof(activity));
	record.type = type_of(header, &record.group);
	if (record.type == RECORD_EVENT) {
		record.item_count = read_items(stored, items);
	} else if (record.type == RECORD_MESSAGE) {
		record.flags = (uint16_t)(MESSAGE_HAS_GUID | MESSAGE_HAS_TIME | MESSAGE_HAS_IDS |
					  (narrow ? MESSAGE_POINTER32 : MESSAGE_POINTER64));
	}
	etl_writer_add(writer, &record);
}

/* ---- the file ---- */

/* The same file, as another session has it open. */
static bool in_use(const WCHAR *path)
{
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		const struct fake_session *session = &fake.sessions[i];

		if (session->used && session->log && fake_wide_equal(session->log->path, path)) {
			return true;
		}
	}
	return false;
}

static uint32_t check_disk(uint64_t maximum)
{
	uint64_t disk = fake.options.log_disk_bytes;

	return disk != 0 && disk < maximum + SPARE_ON_DISK ? ERROR_DISK_FULL : 0;
}

/* Empties a file that exists. */
static uint32_t create(const char *path)
{
	FILE *file = os_file_stream(path, "wb");

	if (file) {
		fclose(file);
		return 0;
	}
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
		return ERROR_PATH_NOT_FOUND;
	case EINVAL:
	case ENAMETOOLONG:
		return ERROR_INVALID_NAME;
	default:
		return ERROR_ACCESS_DENIED;
	}
}

uint32_t fake_log_open(struct fake_session *session, const WCHAR *path, uint32_t maximum_mb)
{
	struct fake_log_file *log;
	char name[UTF8_PATH], session_name[UTF8_PATH];
	const struct etl_writer_options options = {
		.processors = LOG_PROCESSORS,
		.processor_index = true,
		.buffer_size = session->buffer_size_kb * 1024,
		.clock = (enum clock_type)session->clock,
		.perf_frequency = (uint64_t)fake_clock_frequency(),
		.start_raw = session->start_raw,
		.start_time = session->start_time,
		.boot_time = fake_clock_boot_time(),
		.session_name = session_name,
		.file_name = name,
		.log_file_mode = session->mode,
		.maximum_file_mb = maximum_mb,
		.os_build = fake.options.os_build,
		.logger_id = session->id,
	};
	uint32_t error = in_use(path) ? ERROR_BAD_PATHNAME : check_disk(maximum_mb * MEGABYTE);

	if (error != 0) {
		return error;
	}
	fake_wide_to_utf8(path, name, sizeof(name));
	fake_wide_to_utf8(session->name, session_name, sizeof(session_name));
	error = create(name);
	if (error != 0) {
		return error;
	}
	log = calloc(1, sizeof(*log));
	if (!log) {
		abort();
	}
	memcpy(log->path, path, (fake_wide_length(path) + 1) * sizeof(WCHAR));
	log->maximum = maximum_mb * MEGABYTE;
	log->writer = etl_writer_open(name, &options, NULL);
	if (!log->writer) {
		free(log);
		return ERROR_ACCESS_DENIED;
	}
	session->log = log;
	return 0;
}

void fake_log_write(struct fake_session *session, const struct fake_buffer *buffer)
{
	struct fake_log_file *log = session->log;
	uint64_t written = etl_writer_written(log->writer);
	uint64_t size = session->buffer_size_kb * UINT64_C(1024);

	if (log->maximum != 0 && written + size > log->maximum) {
		log->full = true;
	} else if (etl_writer_failed(log->writer) ||
		   (fake.options.log_disk_bytes != 0 &&
		    written + size > fake.options.log_disk_bytes)) {
		session->log_buffers_lost++;
		return;
	}
	if (log->full) {
		fake.full_logs = true;
		return;
	}
	for (size_t offset = 0; offset < buffer->stored_size;) {
		const struct fake_stored *stored = fake_buffer_at(buffer, offset);

		add(log->writer, stored);
		offset += stored->size;
	}
	etl_writer_flush(log->writer);
}

void fake_log_end_full_sessions(void)
{
	fake.full_logs = false;
	for (size_t i = 0; i < fake.session_end; i++) {
		struct fake_session *session = &fake.sessions[i];

		if (session->used && session->log && session->log->full &&
		    !fake.options.full_log_ends_alone) {
			fake_session_stop(session, 0);
		}
	}
}

const WCHAR *fake_log_path(const struct fake_session *session)
{
	return session->log ? session->log->path : u"";
}

uint32_t fake_log_maximum_mb(const struct fake_session *session)
{
	return session->log ? (uint32_t)(session->log->maximum / MEGABYTE) : 0;
}

void fake_log_close(struct fake_session *session)
{
	struct fake_log_file *log = session->log;

	if (log) {
		etl_writer_set_losses(log->writer, (uint32_t)session->lost,
				      session->log_buffers_lost);
		(void)etl_writer_finish(log->writer, NULL);
		etl_writer_close(log->writer);
		free(log);
		session->log = NULL;
	}
}

void fake_etw_set_log_disk(uint64_t bytes)
{
	fake_lock();
	fake.options.log_disk_bytes = bytes;
	fake_unlock();
}
