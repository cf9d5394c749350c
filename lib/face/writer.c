/* SPDX-License-Identifier: MIT */
/*
 * Makes new events, and recordings of only such events, on top of lib/etl/writer.h.
 */
#include <stdlib.h>

#include <etw/kernel.h>
#include <etw/relog.h>

#include "lib/etl/writer.h"
#include "lib/face/face_internal.h"

enum { BUFFER_SIZE = 128 << 10 /* any record fits */ };

struct etw_new_recording {
	struct etw_writer *writer;
	uint16_t processors;
};

/* ---- new events ---- */

static bool check(const struct etw_new_event *event, struct etw_error *err)
{
	if (!event || !event->provider) {
		return error_set(err, ETW_ERROR_MISUSE, "the new event has no provider");
	}
	if (event->payload_size > 0 && !event->payload) {
		return error_set(err, ETW_ERROR_MISUSE, "the payload of the new event is NULL");
	}
	if (event->payload_size > UINT16_MAX) {
		return error_set(err, ETW_ERROR_LIMIT, "a payload of %zu bytes fits into no record",
				 event->payload_size);
	}
	return event->pointer_size == 0 || event->pointer_size == 4 || event->pointer_size == 8 ||
	       error_set(err, ETW_ERROR_MISUSE, "the pointer size is %u; it can be 4, 8 or 0",
			 (unsigned)event->pointer_size);
}

bool face_new_record(const struct etw_new_event *event, struct etw_out_record *record,
		     struct etw_error *err)
{
	if (!check(event, err)) {
		return false;
	}
	*record = (struct etw_out_record){
		.type = event->classic ? ETW_RECORD_FULL : ETW_RECORD_EVENT,
		.group = ETW_RECORD_NO_GROUP,
		.pointer_size = event->pointer_size,
		.processor = event->processor,
		.raw_time = event->raw_time,
		.process_id = event->process_id,
		.thread_id = event->thread_id,
		.opcode = event->opcode,
		.version = event->version,
		.level = event->level,
		.channel = event->channel,
		.id = event->id,
		.task = event->task,
		.keyword = event->keyword,
		.provider = event->provider,
		.payload = event->payload,
		.payload_size = event->payload_size,
	};
	if (event->classic) {
		record->group = etw_kernel_record_group(event->provider, event->opcode);
		record->type = record->group != ETW_RECORD_NO_GROUP ? ETW_RECORD_SYSTEM :
								      ETW_RECORD_FULL;
	}
	return etw_out_record_size(record) <= UINT16_MAX ||
	       error_set(err, ETW_ERROR_LIMIT, "a payload of %zu bytes fits into no record",
			 event->payload_size);
}

/* ---- writers ---- */

static bool is_open(const struct etw_new_recording *writer, struct etw_error *err)
{
	return face_handle_is_open(writer) ||
	       error_set(err, ETW_ERROR_MISUSE, "the writer is %s", writer ? "closed" : "NULL");
}

struct etw_new_recording *etw_open_writer(const char *path,
					  const struct etw_new_recording_options *options,
					  struct etw_error *err)
{
	static const struct etw_new_recording_options none;
	struct etw_writer_options etl = { .buffer_size = BUFFER_SIZE };
	struct etw_new_recording *writer;

	if (!path) {
		error_set(err, ETW_ERROR_MISUSE, "the path of the recording is NULL");
		return NULL;
	}
	options = options ? options : &none;
	etl.session_name = options->session_name;
	etl.processors = options->processors ? options->processors : 1;
	etl.pointer_size = options->pointer_size;
	etl.compressed = options->compressed;
	etl.os_build = options->os_build;
	etl.perf_frequency = options->clock_frequency;
	etl.start_time = options->start_time;
	writer = calloc(1, sizeof *writer);
	if (!writer) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	writer->processors = etl.processors;
	writer->writer = etw_writer_open(path, &etl, err);
	if (!writer->writer || !face_handle_add(writer, err)) {
		etw_writer_close(writer->writer);
		free(writer);
		return NULL;
	}
	return writer;
}

bool etw_write(struct etw_new_recording *writer, const struct etw_new_event *event,
	       struct etw_error *err)
{
	struct etw_out_record record;

	if (!is_open(writer, err) || !face_new_record(event, &record, err)) {
		return false;
	}
	if (record.processor >= writer->processors) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "processor %u: the recording has %u of them",
				 (unsigned)record.processor, (unsigned)writer->processors);
	}
	etw_writer_add(writer->writer, &record);
	return etw_writer_good(writer->writer, err);
}

bool etw_close_writer(struct etw_new_recording *writer, struct etw_error *err)
{
	bool good;

	if (!is_open(writer, err)) {
		return false;
	}
	face_handle_remove(writer);
	good = etw_writer_finish(writer->writer, err);
	etw_writer_close(writer->writer);
	free(writer);
	return good;
}
