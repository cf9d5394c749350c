/* SPDX-License-Identifier: MIT */
#include "tests/support/small_recording.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/etl/writer.h"
#include "tests/support/kernel_events.h"

enum { ALPHA = 100, BETA = 200, GAMMA = 300 };

static void process(struct kernel_events *k, enum lifetime_opcode opcode, uint32_t id,
		    const char *image)
{
	const struct kernel_process process = {
		.id = id,
		.parent_id = 4,
		.exit_status = opcode == OP_STOP ? 0 : 259,
		.image = image,
		.command_line = image,
	};

	event_process(k, opcode, &process);
}

static void thread(struct kernel_events *k, enum lifetime_opcode opcode, uint32_t process_id)
{
	const struct kernel_thread thread = { .process_id = process_id, .id = process_id + 1 };

	event_thread(k, opcode, &thread);
}

static void write_by_alpha(struct kernel_events *k)
{
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = ALPHA + 1
	};

	event_file_transfer(k, OP_FILE_WRITE, &file, 0, SMALL_WRITE_BYTES, FILE_IO_CACHED_WRITE);
}

static void disk_read_of_beta(struct kernel_events *k)
{
	const struct kernel_disk disk = { .size = SMALL_READ_BYTES,
					  .response_ticks = 100,
					  .thread_id = BETA + 1 };

	event_disk(k, OP_DISK_READ, &disk);
}

static uint64_t add_records(struct kernel_events *k, unsigned rounds)
{
	uint64_t records = 0;
	int64_t time = 1000;

	kernel_events_at(k, 0, time, 4, 8);
	process(k, OP_DC_START, ALPHA, "alpha.exe");
	thread(k, OP_DC_START, ALPHA);
	event_file_name(k, OP_FILE_NAME, 0xbee, "\\Device\\HarddiskVolume3\\data\\log.txt");
	process(k, OP_START, GAMMA, "gamma.exe");
	records += 4;
	for (unsigned i = 0; i < rounds; i++) {
		time += 10;
		kernel_events_at(k, (uint16_t)(i % 2), time, ALPHA, ALPHA + 1);
		write_by_alpha(k);
		disk_read_of_beta(k);
		records += 2;
	}
	kernel_events_at(k, 1, time + 10, 4, 8);
	process(k, OP_STOP, GAMMA, "gamma.exe");
	process(k, OP_DC_STOP, ALPHA, "alpha.exe");
	process(k, OP_DC_STOP, BETA, "beta.exe");
	thread(k, OP_DC_STOP, ALPHA);
	thread(k, OP_DC_STOP, BETA);
	return records + 5;
}

uint64_t small_recording(const char *path, unsigned rounds)
{
	const struct etw_writer_options options = {
		.processors = 2,
		.buffer_size = 4096,
		.session_name = "small",
		.events_lost = SMALL_LOST_EVENTS,
	};
	struct etw_error err = { 0 };
	struct etw_writer *writer = etw_writer_open(path, &options, &err);
	struct kernel_events k;
	uint64_t records;

	if (!writer) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	kernel_events_init(&k, writer, 8);
	records = add_records(&k, rounds);
	kernel_events_done(&k);
	if (!etw_writer_finish(writer, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	etw_writer_close(writer);
	return records + 1; /* the logfile header is a record, too */
}
