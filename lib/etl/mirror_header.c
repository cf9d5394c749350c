/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include <etw/kernel.h>

#include "base/cursor.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/mirror_internal.h"
#include "lib/etl/record.h"
#include "lib/etl/scan.h"
#include "lib/etl/writer.h"

enum { RECORD_TIME = 0x10 /* offset of the raw time in a SYSTEM header */ };

bool etw_mirror_fits(const struct etw_file *a, const struct etw_file *b, struct etw_error *err)
{
	const struct etw_header *x = &a->header, *y = &b->header;
	const struct etw_source_clock *p = &a->format.clock, *q = &b->format.clock;

	if (x->pointer_size != y->pointer_size) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "it has pointers of %" PRIu32 " bytes, not of %" PRIu32,
				 y->pointer_size, x->pointer_size);
	}
	if (x->clock_type != y->clock_type) {
		return error_set(err, ETW_ERROR_UNSUPPORTED, "it has another clock: %s, not %s",
				 etw_clock_type_name(q->type), etw_clock_type_name(p->type));
	}
	if (p->frequency != q->frequency) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "it has a clock of %" PRIu64 " ticks per second, not %" PRIu64,
				 q->frequency, p->frequency);
	}
	if (x->boot_time != y->boot_time) {
		return error_set(
			err, ETW_ERROR_UNSUPPORTED,
			"it is of another machine, or of another boot of it: the boot times "
			"are %" PRIu64 " s apart",
			(etw_time_between(x->boot_time, y->boot_time) +
			 etw_time_between(y->boot_time, x->boot_time)) /
				10000000);
	}
	return true;
}

static bool are_of_one_session(const struct etw_header *a, const struct etw_header *b)
{
	return a->start_time == b->start_time && a->raw_time == b->raw_time &&
	       strcmp(a->logger_name, b->logger_name) == 0;
}

/* Adds up the losses of the inputs. Parts of one session, such as those of --split, are counted
 * like the files of one recording. */
static uint32_t merged_losses(const struct etw_mirror *mirror, bool of_buffers)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < mirror->input_count; i++) {
		const struct etw_header *first = &mirror->inputs[i]->header;
		struct etl_losses losses = { 0 };
		bool counted = false;

		for (size_t j = 0; j < i && !counted; j++) {
			counted = are_of_one_session(&mirror->inputs[j]->header, first);
		}
		for (size_t j = i; j < mirror->input_count && !counted; j++) {
			const struct etw_header *part = &mirror->inputs[j]->header;

			if (are_of_one_session(first, part)) {
				etl_losses_add(&losses,
					       of_buffers ? part->buffers_lost : part->events_lost);
			}
		}
		sum += etl_losses_of_all(&losses);
	}
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

void mirror_header_merge(struct etw_mirror *mirror)
{
	const struct etw_header *first = &mirror->inputs[0]->header;
	struct logfile_changes *header = &mirror->header;

	*header = (struct logfile_changes){
		.buffer_size = first->buffer_size_bytes,
		.processors = first->processors,
		.log_file_mode = first->mode,
		.start_time = first->start_time,
		.end_time = first->end_time,
		.events_lost = merged_losses(mirror, false),
		.buffers_lost = merged_losses(mirror, true),
	};
	mirror->start_raw = first->raw_time;
	for (size_t i = 1; i < mirror->input_count; i++) {
		const struct etw_header *next = &mirror->inputs[i]->header;

		if (next->start_time < header->start_time) {
			header->start_time = next->start_time;
			mirror->start_raw = next->raw_time;
		}
		if (next->end_time > header->end_time) {
			header->end_time = next->end_time;
		}
		if (next->buffer_size_bytes > header->buffer_size) {
			header->buffer_size = next->buffer_size_bytes;
		}
		if (next->processors > header->processors) {
			header->processors = next->processors;
		}
		header->log_file_mode |= next->mode & ETW_MODE_COMPRESSED;
	}
	if (mirror->form.packing == ETW_PLAIN) {
		header->log_file_mode &= ~(uint32_t)ETW_MODE_COMPRESSED;
	} else if (mirror->form.packing == ETW_COMPRESSED) {
		header->log_file_mode |= ETW_MODE_COMPRESSED;
	}
}

bool mirror_header_find(struct etw_mirror *mirror, const uint8_t *bytes, uint32_t size,
			struct etw_error *err)
{
	/* The header type of the record determines the layout, not a pointer size that the user
	 * requested. */
	struct etl_format format = mirror->inputs[0]->format;
	struct etl_walk walk;

	format.classic_pointer_size = 0;
	etl_walk_start(&walk, &format, bytes, size, 0, 0);
	if (!etl_walk_next(&walk) || walk.record.type != ETW_RECORD_SYSTEM ||
	    walk.record.kernel_group != ETW_KERNEL_GROUP_EVENT_TRACE ||
	    walk.record.opcode != ETW_KERNEL_OPCODE_EVENT_TRACE_HEADER) {
		return error_set(err, ETW_ERROR_FORMAT, "its first record is no logfile header");
	}
	mirror->header_payload = (size_t)(walk.record.payload - bytes);
	mirror->header_payload_size = walk.record.payload_size;
	mirror->header_pointer_size = walk.record.pointer_size;
	return true;
}

/* Returns the latest end time of the inputs, or the time of an added record if that is later; 0 for
 * a session that was not stopped. */
static int64_t end_time(const struct etw_mirror *mirror)
{
	int64_t latest = etl_writer_latest_raw(mirror->writer);
	int64_t added = etw_clock_time(&mirror->inputs[0]->format.clock, latest);
	int64_t end = mirror->header.end_time;

	return end != 0 && latest > mirror->start_raw && added > end ? added : end;
}

bool mirror_header_store(struct etw_mirror *mirror, uint8_t *bytes, bool running,
			 struct etw_error *err)
{
	struct logfile_changes header = mirror->header;
	uint32_t added = running ? 0 : etl_writer_largest_buffer(mirror->writer);
	uint32_t largest = added > mirror->largest ? added : mirror->largest;

	header.buffer_size = largest > header.buffer_size ? largest : header.buffer_size;
	header.buffers_written = running ? 1 : etl_writer_buffers(mirror->writer);
	header.end_time = running ? 0 : end_time(mirror);
	if (!logfile_header_change(bytes + mirror->header_payload, mirror->header_payload_size,
				   mirror->header_pointer_size, &header)) {
		return error_set(err, ETW_ERROR_FORMAT, "its logfile header is too short");
	}
	store_u64(bytes + ETL_BUFFER_HEADER_SIZE + RECORD_TIME, (uint64_t)mirror->start_raw);
	return true;
}
