/* SPDX-License-Identifier: MIT */
/*
 * A recording of the flight recorder has two parts. First comes what existed before its first
 * record: the facts of every ring, written as a rundown writes them, a tick before the first
 * record. A process that started an hour ago or a loaded image becomes a DCStart, and the name of a
 * file becomes a FileRundown; these events have the same layout as the events from which they are
 * made ("Process class", "Image class", "FileIo class", Microsoft Learn). A reader therefore names
 * processes and files, and does not count a start that it did not record. Then come the records of
 * the rings, merged by time, each on the processor that it came from.
 *
 * Records of one ring are in the order in which their consumer received them, which is that of time
 * except for the few that Windows delivers late. All rings of live sessions have one clock, the
 * performance counter, so raw times are compared and written as they are. A ring with another clock
 * than the first one is left out, and its records are counted.
 *
 * A recording that grows is written in many such steps. Each step reads what the rings have
 * received since the last one. A session delivers a buffer when the buffer is full or flushed, so
 * while one session is ahead, another may still deliver earlier records. Therefore the records of
 * the last moments stay in their rings until the next step, unless a ring is about to overflow. A
 * record that comes even later is written out of order; readers sort by time.
 */
#include "exporter/recorder/recording.h"

#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/mirror.h>

#include "base/text.h"

enum {
	RECORD_SIZE_MAX = UINT16_MAX,
	BUFFER_SIZE = 68 << 10, /* room for the largest record; each processor has one buffer */
	PROCESSORS_MAX = 2048,  /* the most that Windows has; a recording may claim any number */
	ITEMS_MAX = 64,         /* extended items of a record; Windows writes about ten at most */
	MESSAGE_GUID_TIME_IDS = 0x02 | 0x08 | 0x20, /* docs/etl-format.md section 4 */
	EVENT_CLASSIC_HEADER = 0x0100,
};

struct input {
	struct tap *tap;
	struct ring_reader reader;
	struct tap_facts facts;
	const struct kept_record *next; /* NULL: no more records at the moment */
	bool open;                      /* the ring has a record, so the reader is open */
	bool facts_written;
	bool other_clock;
};

struct ring_writer {
	char *path; /* owned */
	enum etw_visibility visibility;
	struct input *inputs;
	size_t count;
	struct etw_writer *writer;     /* owned; NULL before the first record */
	struct etw_source_clock clock; /* of the first record, as are start_raw and wait_raw */
	int64_t start_raw;
	int64_t wait_raw;
	uint64_t wait_ns;
	int64_t last_raw;   /* raw time of the last record that was written */
	int64_t newest_raw; /* greatest raw time that the rings have received */
	uint16_t processors;
	struct recording_result result;
	const atomic_bool *stop; /* borrowed; NULL: the writer is never stopped */
};

/* ---- one record ---- */

/* Changes the opcode of a record to the one that a rundown would write. */
static void describe_existing(struct etw_record *record, enum fact_type type)
{
	if (type == FACT_PROCESS || type == FACT_THREAD || type == FACT_IMAGE) {
		/* A load of an image is a record of the process group (docs/etl-format.md section
		 * 8). */
		if (record->kernel_group == ETW_KERNEL_GROUP_PROCESS &&
		    record->opcode == ETW_KERNEL_OPCODE_IMAGE_LOAD) {
			record->kernel_group = ETW_KERNEL_GROUP_IMAGE;
		}
		record->opcode = ETW_KERNEL_OPCODE_DC_START;
	} else if (type == FACT_NAME) {
		record->opcode = ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN;
	}
}

/* Writes one record. Returns false if it is too large; then it is left out and counted. */
static bool write_record(struct ring_writer *to, const struct etw_record *record)
{
	struct etw_out_item items[ITEMS_MAX];
	struct etw_out_record out = {
		.type = (enum etw_record_type)record->type,
		.pointer_size = record->pointer_size,
		.processor = record->processor < to->processors ? record->processor : 0,
		.raw_time = record->raw_time,
		.process_id = record->process_id,
		.thread_id = record->thread_id,
		.group = record->kernel_group,
		.opcode = record->opcode,
		.version = record->version,
		.level = record->level,
		.channel = record->channel,
		.id = record->id,
		.task = record->task,
		.keyword = record->keyword,
		.provider = record->provider,
		.activity = record->activity,
		.items = items,
		.payload = record->payload,
		.payload_size = record->payload_size,
	};
	struct etw_extended_item item;
	uint32_t offset = 0;

	if (out.type == ETW_RECORD_MESSAGE) {
		out.flags = MESSAGE_GUID_TIME_IDS;
	} else if (out.type == ETW_RECORD_EVENT && record->classic) {
		out.flags = EVENT_CLASSIC_HEADER;
	}
	if (out.raw_time == ETW_RECORD_NO_TIME) {
		out.raw_time = to->last_raw;
	}
	while (out.item_count < ITEMS_MAX && etw_record_next_extended(record, &offset, &item)) {
		items[out.item_count++] = (struct etw_out_item){ .type = item.type,
								 .size = item.size,
								 .data = item.data };
	}
	if (etw_out_record_size(&out) > RECORD_SIZE_MAX) {
		to->result.too_large++;
		return false;
	}
	to->last_raw = out.raw_time;
	etw_writer_add(to->writer, &out);
	return true;
}

/* ---- the two parts ---- */

static void write_facts(struct ring_writer *to, struct input *input)
{
	const struct fact_copy *facts = &input->reader.facts;

	for (size_t at = 0; at < facts->count;) {
		const struct kept_record *kept =
			(const struct kept_record *)(const void *)(facts->words + at);
		struct etw_record record;

		kept_read(kept, &record);
		describe_existing(&record, (enum fact_type)kept->fact);
		/* All facts go to one processor, so that they stay in the order in which they
		 * became true. */
		record.raw_time = to->last_raw;
		record.processor = 0;
		to->result.facts += write_record(to, &record);
		at += kept->words;
	}
	input->facts_written = true;
}

static struct input *earliest(const struct ring_writer *recording)
{
	struct input *first = NULL;

	for (size_t i = 0; i < recording->count; i++) {
		struct input *input = &recording->inputs[i];

		if (input->next && (!first || input->next->raw_time < first->next->raw_time)) {
			first = input;
		}
	}
	return first;
}

static bool is_stopped(const struct ring_writer *recording)
{
	return recording->stop && atomic_load_explicit(recording->stop, memory_order_relaxed);
}

/* Moves to the next record of a ring. If the ring has another clock, its records are only
 * counted. */
static void advance(struct ring_writer *recording, struct input *input)
{
	input->next = ring_reader_next(&input->reader);
	while (input->next && input->other_clock) {
		recording->result.other_clock++;
		input->next = ring_reader_next(&input->reader);
	}
}

/* Returns whether a record can be written because no other session is expected to deliver an
 * earlier one. */
static bool is_due(const struct ring_writer *recording, const struct input *first)
{
	if (recording->count == 1 || ring_reader_is_late(&first->reader)) {
		return true;
	}
	for (size_t i = 0; i < recording->count; i++) {
		if (!recording->inputs[i].next) {
			return first->next->raw_time <=
			       etw_time_add(recording->newest_raw, -recording->wait_raw);
		}
	}
	return true;
}

static void write_records(struct ring_writer *to, bool all)
{
	struct input *input;

	while (!etw_writer_failed(to->writer) && !is_stopped(to) &&
	       (input = earliest(to)) != NULL && (all || is_due(to, input))) {
		bool known = input->next->known;
		struct etw_record record;

		kept_read(input->next, &record);
		if (known) {
			describe_existing(&record, (enum fact_type)input->next->fact);
			to->result.facts += write_record(to, &record);
		} else {
			to->result.records += write_record(to, &record);
		}
		advance(to, input);
	}
}

/* ---- beginning ---- */

static bool same_clock(const struct etw_source_clock *a, const struct etw_source_clock *b)
{
	return a->type == b->type && a->frequency == b->frequency;
}

static struct etw_writer_options header_of(const struct ring_writer *recording,
					   const struct input *first)
{
	const struct etw_source_clock *clock = &recording->clock;
	struct etw_writer_options options = {
		.buffer_size = BUFFER_SIZE,
		.header_buffer_size = 8192,
		.processor_index = true,
		.pointer_size = first->facts.pointer_size,
		.clock = clock->type,
		.perf_frequency = clock->type == ETW_CLOCK_QPC ? clock->frequency :
								 clock->perf_frequency,
		.cpu_mhz = clock->type == ETW_CLOCK_CPU_CYCLE ?
				   (uint32_t)(clock->frequency / 1000000) :
				   first->facts.cpu_mhz,
		.start_raw = recording->start_raw,
		.start_time = etw_clock_time(clock, recording->start_raw),
		.boot_time = first->facts.boot_time,
		.bias_minutes = first->facts.bias_minutes,
		.os_build = first->facts.os_build,
		.os_major = first->facts.os_major,
		.os_minor = first->facts.os_minor,
		.session_name = first->facts.session,
	};

	memcpy(options.time_zone_rest, first->facts.time_zone_rest, sizeof options.time_zone_rest);
	options.processors = 1;
	for (size_t i = 0; i < recording->count; i++) {
		uint32_t processors = recording->inputs[i].facts.processors;

		processors = processors < PROCESSORS_MAX ? processors : PROCESSORS_MAX;
		if (processors > options.processors) {
			options.processors = (uint16_t)processors;
		}
	}
	return options;
}

/* Returns the time of the rundown: one tick before the first record, so that it stays first in a
 * sort by time. */
static int64_t start_of(const struct input *first)
{
	return first->next->raw_time == ETW_RECORD_NO_TIME ?
		       first->reader.clock.anchor_raw :
		       etw_time_add(first->next->raw_time, -1);
}

/* Takes the clock of the earliest record so far, before there is a file. */
static void use_clock_of(struct ring_writer *recording, const struct input *first)
{
	recording->clock = first->reader.clock;
	recording->newest_raw = first->next->raw_time;
	recording->wait_raw =
		(int64_t)((double)recording->wait_ns / 1e9 * (double)recording->clock.frequency);
}

/* Opens the file; its header describes the machine of the first record. */
static bool create_file(struct ring_writer *recording, const struct input *first,
			struct etw_error *err)
{
	struct etw_writer_options options;

	recording->start_raw = start_of(first);
	recording->last_raw = recording->start_raw;
	options = header_of(recording, first);
	recording->processors = options.processors;
	options.visibility = recording->visibility;
	recording->writer = etw_writer_open(recording->path, &options, err);
	return recording->writer != NULL;
}

/* Begins to read a ring that has its first record. */
static bool open_input(struct input *input, struct etw_error *err)
{
	struct ring_statistics statistics;

	ring_statistics(tap_ring(input->tap), &statistics);
	if (statistics.added == statistics.overwritten) {
		return true;
	}
	input->open = ring_reader_open(&input->reader, tap_ring(input->tap), err);
	tap_facts(input->tap, &input->facts);
	return input->open;
}

/* ---- a recording ---- */

struct ring_writer *ring_writer_open(const char *path, struct tap *const *taps, size_t count,
				     uint64_t wait_ns, struct etw_error *err)
{
	struct ring_writer *recording = calloc(1, sizeof *recording);

	if (recording) {
		recording->visibility = ETW_VISIBLE_ALWAYS;
		recording->wait_ns = wait_ns;
		recording->path = text_duplicate(path, strlen(path));
		recording->inputs = calloc(count, sizeof *recording->inputs);
	}
	if (!recording || !recording->path || !recording->inputs) {
		error_no_memory(err, "a recording");
		ring_writer_close(recording);
		return NULL;
	}
	recording->count = count;
	for (size_t i = 0; i < count; i++) {
		recording->inputs[i].tap = taps[i];
	}
	return recording;
}

void ring_writer_close(struct ring_writer *recording)
{
	if (!recording) {
		return;
	}
	for (size_t i = 0; i < recording->count; i++) {
		ring_reader_close(&recording->inputs[i].reader);
	}
	etw_writer_close(recording->writer);
	free(recording->inputs);
	free(recording->path);
	free(recording);
}

/* Opens the rings that have their first record, and finds what the others have received. */
static bool refresh_inputs(struct ring_writer *recording, struct etw_error *err)
{
	/* All are opened before any is read, so that they show the same time. */
	for (size_t i = 0; i < recording->count; i++) {
		struct input *input = &recording->inputs[i];

		if (input->open) {
			ring_reader_more(&input->reader);
		} else if (!open_input(input, err)) {
			return false;
		}
	}
	for (size_t i = 0; i < recording->count; i++) {
		struct input *input = &recording->inputs[i];

		if (input->open && !input->next) {
			advance(recording, input);
		}
	}
	return true;
}

/* Begins to read the inputs that were opened in this step. */
static void begin_inputs(struct ring_writer *recording)
{
	for (size_t i = 0; i < recording->count; i++) {
		struct input *input = &recording->inputs[i];

		if (!input->open || input->facts_written) {
			continue;
		}
		input->other_clock = !same_clock(&input->reader.clock, &recording->clock);
		if (!input->other_clock) {
			write_facts(recording, input);
		} else if (input->next) {
			recording->result.other_clock++;
			advance(recording, input);
		}
		input->facts_written = true;
	}
}

static void find_newest(struct ring_writer *recording)
{
	for (size_t i = 0; i < recording->count; i++) {
		const struct input *input = &recording->inputs[i];

		if (input->open && same_clock(&input->reader.clock, &recording->clock)) {
			int64_t newest = ring_newest(tap_ring(input->tap));

			recording->newest_raw =
				newest > recording->newest_raw ? newest : recording->newest_raw;
		}
	}
}

bool ring_writer_follow(struct ring_writer *recording, bool all, struct etw_error *err)
{
	const struct input *first;

	if (!refresh_inputs(recording, err)) {
		return false;
	}
	first = earliest(recording);
	if (!first) {
		return true;
	}
	if (!recording->writer) {
		use_clock_of(recording, first);
	}
	find_newest(recording);
	/* The header has the time of the first record, so it must be certain which record is the
	 * first. */
	if (!recording->writer && !all && !is_due(recording, first)) {
		return true;
	}
	if (!recording->writer && !create_file(recording, first, err)) {
		return false;
	}
	begin_inputs(recording);
	write_records(recording, all);
	recording->result.bytes = etw_writer_written(recording->writer);
	return etw_writer_good(recording->writer, err);
}

const struct recording_result *ring_writer_result(const struct ring_writer *recording)
{
	return &recording->result;
}

char *ring_writer_leave(struct ring_writer *recording)
{
	return recording->writer ? etw_writer_leave(recording->writer) : NULL;
}

static uint32_t at_most_32_bits(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

bool ring_writer_finish(struct ring_writer *recording, uint64_t lost_events, uint64_t lost_buffers,
			struct etw_error *err)
{
	struct recording_result *result = &recording->result;
	bool good;

	if (!recording->writer) {
		return error_set(err, ETW_ERROR_SYSTEM, "no event has been received yet");
	}
	for (size_t i = 0; i < recording->count; i++) {
		result->lost += recording->inputs[i].reader.lost;
	}
	etw_writer_set_losses(recording->writer, at_most_32_bits(result->lost + lost_events),
			      at_most_32_bits(lost_buffers));
	result->span_ns = etw_time_between(etw_clock_time(&recording->clock, recording->start_raw),
					   etw_clock_time(&recording->clock, recording->last_raw)) *
			  100;
	good = is_stopped(recording) ? error_set(err, ETW_ERROR_SYSTEM, "the program is stopping") :
				       etw_writer_finish(recording->writer, err);
	result->bytes = etw_writer_written(recording->writer);
	return good;
}

bool recording_write(const char *path, struct tap *const *taps, size_t count,
		     const atomic_bool *stop, struct recording_result *result,
		     struct etw_error *err)
{
	struct ring_writer *recording = ring_writer_open(path, taps, count, 0, err);
	bool good;

	*result = (struct recording_result){ 0 };
	if (!recording) {
		return false;
	}
	recording->visibility = ETW_VISIBLE_WHEN_COMPLETE;
	recording->stop = stop;
	good = ring_writer_follow(recording, true, err) && ring_writer_finish(recording, 0, 0, err);
	*result = recording->result;
	ring_writer_close(recording);
	return good;
}
