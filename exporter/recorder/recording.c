/* SPDX-License-Identifier: MIT */
/*
 * A recording of the flight recorder has two parts. First comes what existed before its first
 * record: the facts of every ring, written as a rundown writes them, a tick before the first
 * record. A process that started an hour ago becomes a DCStart, a loaded image likewise, the name
 * of a file a FileRundown; these events have the layout of the ones that they are made of ("Process
 * class", "Image class", "FileIo class", Microsoft Learn). A reader therefore names processes and
 * files, and does not count a start that it did not record. Then come the records of the rings,
 * merged by time, each on the processor that it came from.
 *
 * Records of one ring are in the order in which their consumer had them, which is that of time
 * except for the few that Windows delivers late. All rings of live sessions have one clock, the
 * performance counter, so raw times are compared and written as they are. A ring with another clock
 * than the first one is left out, and its records are counted.
 */
#include "recorder/recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decode/kernel_class.h"
#include "etl/writer.h"

enum {
	RECORD_SIZE_MAX = UINT16_MAX,
	BUFFER_SIZE = 68 << 10, /* room for the largest record; each processor has one */
	PROCESSORS_MAX = 2048,  /* of Windows; a recording may say anything */
	ITEMS_MAX = 64,         /* extended items of a record; Windows writes some ten at most */
	MESSAGE_GUID_TIME_IDS = 0x02 | 0x08 | 0x20, /* docs/etl-format.md section 4 */
	EVENT_CLASSIC_HEADER = 0x0100,
};

struct input {
	struct ring_reader reader;
	struct tap_facts facts;
	const struct kept_record *next; /* NULL: no more */
};

struct output {
	struct etl_writer *writer;
	int64_t start_raw;
	int64_t last_raw;
	uint16_t processors;
	struct recording_result *result;
	const atomic_bool *stop;
};

/* ---- one record ---- */

/* The record as a rundown writes it. */
static void describe_existing(struct event_record *record, enum fact_type type)
{
	if (type == FACT_EXISTS) {
		/* A load is a record of the process group (docs/etl-format.md section 8). */
		if (record->kernel_group == KERNEL_GROUP_PROCESS &&
		    record->opcode == KERNEL_OPCODE_IMAGE_LOAD) {
			record->kernel_group = KERNEL_GROUP_IMAGE;
		}
		record->opcode = KERNEL_OPCODE_DC_START;
	} else if (type == FACT_NAME) {
		record->opcode = KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN;
	}
}

static void write_record(struct output *to, const struct event_record *record)
{
	struct etl_out_item items[ITEMS_MAX];
	struct etl_out_record out = {
		.type = (enum record_type)record->type,
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
	struct extended_item item;
	uint32_t offset = 0;

	if (out.type == RECORD_MESSAGE) {
		out.flags = MESSAGE_GUID_TIME_IDS;
	} else if (out.type == RECORD_EVENT && record->classic) {
		out.flags = EVENT_CLASSIC_HEADER;
	}
	if (out.raw_time == RECORD_NO_TIME) {
		out.raw_time = to->last_raw;
	}
	while (out.item_count < ITEMS_MAX && record_next_extended(record, &offset, &item)) {
		items[out.item_count++] = (struct etl_out_item){ .type = item.type,
								 .size = item.size,
								 .data = item.data };
	}
	if (etl_out_record_size(&out) > RECORD_SIZE_MAX) {
		to->result->left_out++;
		return;
	}
	to->last_raw = out.raw_time;
	etl_writer_add(to->writer, &out);
}

/* ---- the two parts ---- */

static void write_facts(struct output *to, const struct input *input)
{
	const struct fact_copy *facts = &input->reader.facts;

	for (size_t at = 0; at < facts->count;) {
		const struct kept_record *kept =
			(const struct kept_record *)(const void *)(facts->words + at);
		struct event_record record;

		kept_read(kept, &record);
		describe_existing(&record, (enum fact_type)kept->fact);
		/* In one buffer they stay in the order in which they became true. */
		record.raw_time = to->start_raw;
		record.processor = 0;
		write_record(to, &record);
		to->result->facts++;
		at += kept->words;
	}
}

static struct input *earliest(struct input *inputs, size_t count)
{
	struct input *first = NULL;

	for (size_t i = 0; i < count; i++) {
		if (inputs[i].next &&
		    (!first || inputs[i].next->raw_time < first->next->raw_time)) {
			first = &inputs[i];
		}
	}
	return first;
}

static bool is_stopped(const struct output *to)
{
	return to->stop && atomic_load_explicit(to->stop, memory_order_relaxed);
}

static void write_records(struct output *to, struct input *inputs, size_t count)
{
	struct input *input;

	while (!etl_writer_failed(to->writer) && !is_stopped(to) &&
	       (input = earliest(inputs, count)) != NULL) {
		struct event_record record;

		kept_read(input->next, &record);
		if (input->next->known) {
			describe_existing(&record, (enum fact_type)input->next->fact);
			to->result->facts++;
		} else {
			to->result->records++;
		}
		write_record(to, &record);
		input->next = ring_reader_next(&input->reader);
	}
}

/* ---- a recording ---- */

static void close_inputs(struct input *inputs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ring_reader_close(&inputs[i].reader);
	}
	free(inputs);
}

static struct input *open_inputs(struct tap *const *taps, size_t count, struct error *err)
{
	struct input *inputs = calloc(count, sizeof *inputs);

	if (!inputs) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (!ring_reader_open(&inputs[i].reader, tap_ring(taps[i]), err)) {
			close_inputs(inputs, i);
			return NULL;
		}
		tap_facts(taps[i], &inputs[i].facts);
	}
	for (size_t i = 0; i < count; i++) {
		inputs[i].next = ring_reader_next(&inputs[i].reader);
	}
	return inputs;
}

static bool same_clock(const struct source_clock *a, const struct source_clock *b)
{
	return a->type == b->type && a->frequency == b->frequency;
}

/* Rings with another clock than that of the first record are not written. */
static void leave_out_other_clocks(struct input *inputs, size_t count, const struct input *first,
				   struct recording_result *result)
{
	for (size_t i = 0; i < count; i++) {
		struct input *input = &inputs[i];

		if (same_clock(&input->reader.clock, &first->reader.clock)) {
			continue;
		}
		for (; input->next; input->next = ring_reader_next(&input->reader)) {
			result->left_out++;
		}
		input->reader.facts.count = 0;
	}
}

static struct etl_writer_options header_of(const struct input *inputs, size_t count,
					   const struct input *first, int64_t start_raw)
{
	const struct source_clock *clock = &first->reader.clock;
	struct etl_writer_options options = {
		.buffer_size = BUFFER_SIZE,
		.header_buffer_size = 8192,
		.processor_index = true,
		.pointer_size = first->facts.pointer_size,
		.clock = clock->type,
		.perf_frequency = clock->type == CLOCK_QPC ? clock->frequency :
							     clock->perf_frequency,
		.cpu_mhz = clock->type == CLOCK_CPU_CYCLE ? (uint32_t)(clock->frequency / 1000000) :
							    first->facts.cpu_mhz,
		.start_raw = start_raw,
		.start_time = clock_time(clock, start_raw),
		.boot_time = first->facts.boot_time,
		.bias_minutes = first->facts.bias_minutes,
		.os_build = first->facts.os_build,
		.os_major = first->facts.os_major,
		.os_minor = first->facts.os_minor,
		.session_name = first->facts.session,
	};

	options.processors = 1;
	for (size_t i = 0; i < count; i++) {
		uint32_t processors = inputs[i].facts.processors;

		processors = processors < PROCESSORS_MAX ? processors : PROCESSORS_MAX;
		if (processors > options.processors) {
			options.processors = (uint16_t)processors;
		}
	}
	return options;
}

/* A tick before the first record, so that a sort by time leaves the rundown in front. */
static int64_t start_of(const struct input *first)
{
	return first->next->raw_time == RECORD_NO_TIME ? first->reader.clock.anchor_raw :
							 time_add(first->next->raw_time, -1);
}

bool recording_write(const char *path, struct tap *const *taps, size_t count,
		     const atomic_bool *stop, struct recording_result *result, struct error *err)
{
	struct input *inputs = open_inputs(taps, count, err);
	struct output to = { .result = result, .stop = stop };
	struct etl_writer_options options;
	const struct input *first;
	struct source_clock clock;
	bool good;

	*result = (struct recording_result){ 0 };
	if (!inputs) {
		return false;
	}
	first = earliest(inputs, count);
	if (!first) {
		close_inputs(inputs, count);
		return error_set(err, ERROR_SYSTEM, "the flight recorder has no record yet");
	}
	clock = first->reader.clock;
	to.start_raw = start_of(first);
	to.last_raw = to.start_raw;
	leave_out_other_clocks(inputs, count, first, result);
	options = header_of(inputs, count, first, to.start_raw);
	to.processors = options.processors;
	to.writer = etl_writer_open(path, &options, err);
	good = to.writer != NULL;
	if (good) {
		for (size_t i = 0; i < count; i++) {
			write_facts(&to, &inputs[i]);
		}
		write_records(&to, inputs, count);
		for (size_t i = 0; i < count; i++) {
			result->lost += inputs[i].reader.lost;
		}
		etl_writer_set_losses(
			to.writer, result->lost < UINT32_MAX ? (uint32_t)result->lost : UINT32_MAX,
			0);
		result->span_ns = time_between(clock_time(&clock, to.start_raw),
					       clock_time(&clock, to.last_raw)) *
				  100;
		good = is_stopped(&to) ? error_set(err, ERROR_SYSTEM, "the program is stopping") :
					 etl_writer_finish(to.writer, err);
		result->bytes = etl_writer_written(to.writer);
	}
	etl_writer_close(to.writer);
	close_inputs(inputs, count);
	return good;
}
