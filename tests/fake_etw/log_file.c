/* SPDX-License-Identifier: MIT */
/*
 * The file of a session in sequential file mode: what Windows would write into it, by the writer of
 * recordings. Kernel events without ids have a PERFINFO header, as those of Windows that have none.
 */
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/mirror.h>

enum { ITEMS_MAX = 32, PAYLOAD_MAX = 65536, PATH_SIZE = 3 * FAKE_NAME + 1 };

uint32_t fake_log_open(struct fake_session *session, const WCHAR *name)
{
	struct etw_writer_options options = {
		.processors = (uint16_t)fake.options.processors,
		.clock = (enum etw_clock_type)session->clock,
		.perf_frequency = (uint64_t)fake_clock_frequency(),
		.start_raw = session->start_raw,
		.start_time = session->start_time,
		.log_file_mode = session->mode,
		.os_build = fake.options.os_build,
		.logger_id = session->id,
	};
	char path[PATH_SIZE];

	fake_wide_to_utf8(name, path, sizeof path);
	session->file = etw_writer_open(path, &options, NULL);
	return session->file ? 0 : ERROR_PATH_NOT_FOUND;
}

/* Joins the pieces of a payload; returns its size. */
static size_t join(const struct fake_write *write, uint8_t *payload)
{
	size_t size = 0;

	for (size_t i = 0; i < write->payload_count; i++) {
		if (write->payload[i].size > PAYLOAD_MAX - size) {
			abort();
		}
		if (write->payload[i].size > 0) {
			memcpy(payload + size, write->payload[i].at, write->payload[i].size);
		}
		size += write->payload[i].size;
	}
	return size;
}

uint32_t fake_log_write(struct fake_session *session, const struct fake_write *write)
{
	static uint8_t payload[PAYLOAD_MAX]; /* with the lock */
	const EVENT_HEADER *header = &write->header;
	const EVENT_DESCRIPTOR *descriptor = &header->EventDescriptor;
	struct etw_out_item items[ITEMS_MAX];
	struct etw_guid provider, activity;
	struct etw_out_record record = {
		.type = ETW_RECORD_EVENT,
		.pointer_size = header->Flags & EVENT_HEADER_FLAG_32_BIT_HEADER ? 4 : 8,
		.processor = write->processor,
		.raw_time = header->TimeStamp.QuadPart,
		.process_id = header->ProcessId,
		.thread_id = header->ThreadId,
		.opcode = descriptor->Opcode,
		.version = descriptor->Version,
		.level = descriptor->Level,
		.channel = descriptor->Channel,
		.id = descriptor->Id,
		.task = descriptor->Task,
		.keyword = descriptor->Keyword,
		.provider = &provider,
		.activity = &activity,
		.items = items,
		.item_count = write->item_count,
		.payload = payload,
		.payload_size = join(write, payload),
	};

	memcpy(&provider, &header->ProviderId, sizeof provider);
	memcpy(&activity, &header->ActivityId, sizeof activity);
	for (size_t i = 0; i < write->item_count; i++) {
		items[i] = (struct etw_out_item){ write->item_types[i],
						  (uint16_t)write->items[i].size,
						  write->items[i].at };
	}
	if (header->Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) {
		record.group = etw_kernel_record_group(&provider, descriptor->Opcode);
		record.item_count = 0;
		record.type = record.group == ETW_RECORD_NO_GROUP ? ETW_RECORD_FULL :
			      header->ProcessId == ETW_RECORD_NO_ID ? ETW_RECORD_PERFINFO :
								      ETW_RECORD_SYSTEM;
	}
	etw_writer_add(session->file, &record);
	session->emitted++;
	session->delivered++;
	return 0;
}

void fake_log_close(struct fake_session *session)
{
	if (session->file && !etw_writer_finish(session->file, NULL)) {
		abort();
	}
	etw_writer_close(session->file);
	session->file = NULL;
}
