/* SPDX-License-Identifier: MIT */
/*
 * make_many FILE WHAT COUNT: a recording of so many of one thing, for tests of how cost and memory
 * grow with it. What else is in the recording does not depend on COUNT, and neither does its time,
 * which is a minute:
 *
 *   pages       processes with long names that write files: a page of about 2 KB for each of them,
 *               most of whose records come after they are all there; its time grows
 *   processes   processes of a hundred names that run at once, each with a thread and a write
 *   names       the same, each process with a name of its own: about ten series for each
 *   starts      processes that start and end one after the other, at most a thousand at once
 *   renewed     the same, each with a name of its own and a write; in ten minutes, so that series
 *               of names that are gone can be evicted
 *   files       files, each written once, whose names come at the end
 *   processors  processors that take turns, a record each, five hundred records for each of them
 *   fields      fields of each of a hundred events that describe themselves; at most a thousand,
 *               two of them with one name
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/etl/writer.h"
#include "tests/support/kernel_events.h"

enum {
	MANY_MOST = 20000000,
	FIRST_ID = 1000,
	ROUNDS = 20,
	NAME_SIZE = 200,
	NAMES = 100,
	RUNNING_MOST = 1000,
	TURNS = 500, /* of each processor */
};

#define FILE_KEY UINT64_C(0xffffa30b20000170)
#define START    INT64_C(1000)
#define MINUTE   INT64_C(600000000) /* ticks of the clock, which are 100 ns */

struct many {
	struct kernel_events events;
	uint32_t count;
	uint64_t step, steps; /* so many of them are the minute */
};

/* The next moment, at which a thread of the process runs; that of process 4 is 8. */
static void next_step(struct many *m, uint16_t processor, uint32_t process_id)
{
	uint64_t at = m->step++;

	kernel_events_at(&m->events, processor,
			 START + (int64_t)((double)at / (double)m->steps * (double)MINUTE),
			 process_id, process_id == 4 ? 8 : process_id + 1);
}

static void add_process(struct many *m, enum lifetime_opcode opcode, uint32_t id, const char *name)
{
	const struct kernel_process process = {
		.id = id, .parent_id = 4, .exit_status = 259, .image = name, .command_line = name
	};

	event_process(&m->events, opcode, &process);
}

static void add_thread(struct many *m, enum lifetime_opcode opcode, uint32_t id)
{
	event_thread(&m->events, opcode, &(struct kernel_thread){ .process_id = id, .id = id + 1 });
}

static void write_file(struct many *m, uint32_t id, uint64_t key)
{
	const struct kernel_file file = {
		.irp = id, .object = 0xf00, .key = key, .thread_id = id + 1
	};

	event_file_transfer(&m->events, OP_FILE_WRITE, &file, 0, 4096, FILE_IO_CACHED_WRITE);
}

/* ---- what there can be many of ---- */

static void pages(struct many *m)
{
	const struct kernel_disk disk = { .size = 4096, .response_ticks = 100 };
	int64_t time = START;

	kernel_events_at(&m->events, 0, time, 4, 8);
	event_file_name(&m->events, OP_FILE_NAME, 0xbee,
			"\\Device\\HarddiskVolume3\\data\\log.txt");
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t id = FIRST_ID + 4 * i;
		char name[NAME_SIZE + 1];
		int size = snprintf(name, sizeof name, "program-%" PRIu32 "-", id);

		memset(name + size, 'n', NAME_SIZE - (size_t)size);
		memcpy(name + NAME_SIZE - 4, ".exe", 5);
		add_process(m, OP_DC_START, id, name);
		add_thread(m, OP_DC_START, id);
	}
	for (uint32_t i = 0; i < ROUNDS * m->count; i++) {
		uint32_t id = FIRST_ID + 4 * (i % m->count);
		struct kernel_disk written = disk;

		time += 10;
		kernel_events_at(&m->events, 0, time, id, id + 1);
		write_file(m, id, 0xbee);
		written.thread_id = id + 1;
		event_disk(&m->events, OP_DISK_WRITE, &written);
	}
}

static void running(struct many *m, uint32_t names)
{
	char name[32];

	m->steps = 2 * (uint64_t)m->count + 1;
	next_step(m, 0, 4);
	event_file_name(&m->events, OP_FILE_NAME, FILE_KEY, "\\Device\\HarddiskVolume3\\log.txt");
	for (uint32_t i = 0; i < m->count; i++) {
		snprintf(name, sizeof name, "program-%" PRIu32 ".exe", i % names);
		next_step(m, 0, 4);
		add_process(m, OP_START, FIRST_ID + 4 * i, name);
		add_thread(m, OP_START, FIRST_ID + 4 * i);
	}
	for (uint32_t i = 0; i < m->count; i++) {
		next_step(m, 0, FIRST_ID + 4 * i);
		write_file(m, FIRST_ID + 4 * i, FILE_KEY);
	}
}

static void processes(struct many *m)
{
	running(m, NAMES);
}

static void names(struct many *m)
{
	running(m, UINT32_MAX);
}

static void passing(struct many *m, uint32_t names, bool writes, unsigned minutes)
{
	uint64_t steps = m->count + (uint64_t)RUNNING_MOST;
	char name[32];

	m->steps = steps / minutes;
	for (uint64_t i = 0; i < steps; i++) {
		next_step(m, 0, 4);
		if (i >= RUNNING_MOST) {
			uint32_t id = FIRST_ID + 4 * (uint32_t)(i % RUNNING_MOST);

			snprintf(name, sizeof name, "program-%u.exe",
				 (unsigned)((i - RUNNING_MOST) % names));
			add_thread(m, OP_STOP, id);
			add_process(m, OP_STOP, id, name);
		}
		if (i < m->count) {
			uint32_t id = FIRST_ID + 4 * (uint32_t)(i % RUNNING_MOST);

			snprintf(name, sizeof name, "program-%u.exe", (unsigned)(i % names));
			add_process(m, OP_START, id, name);
			add_thread(m, OP_START, id);
			if (writes) {
				write_file(m, id, FILE_KEY);
			}
		}
	}
}

static void starts(struct many *m)
{
	passing(m, NAMES, false, 1);
}

static void renewed(struct many *m)
{
	passing(m, UINT32_MAX, true, 10);
}

static void files(struct many *m)
{
	char path[96];

	m->steps = 2 * (uint64_t)m->count + 1;
	next_step(m, 0, 4);
	add_process(m, OP_DC_START, FIRST_ID, "writer.exe");
	add_thread(m, OP_DC_START, FIRST_ID);
	for (uint32_t i = 0; i < m->count; i++) {
		next_step(m, 0, FIRST_ID);
		write_file(m, FIRST_ID, FILE_KEY + 0x290 * (uint64_t)i);
	}
	for (uint32_t i = 0; i < m->count; i++) {
		snprintf(path, sizeof path,
			 "\\Device\\HarddiskVolume3\\Data\\folder-%04" PRIu32 "\\file-%08" PRIu32
			 ".dat",
			 i / 1000, i);
		next_step(m, 0, 4);
		event_file_name(&m->events, OP_FILE_NAME_RUNDOWN, FILE_KEY + 0x290 * (uint64_t)i,
				path);
	}
}

static void processors(struct many *m)
{
	m->steps = (uint64_t)m->count * TURNS + 1;
	next_step(m, 0, 4);
	add_process(m, OP_DC_START, FIRST_ID, "writer.exe");
	add_thread(m, OP_DC_START, FIRST_ID);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (uint32_t i = 0; i < m->count; i++) {
			next_step(m, (uint16_t)i, FIRST_ID);
			write_file(m, FIRST_ID, FILE_KEY);
		}
	}
}

static void fields(struct many *m)
{
	enum { EVENTS = 100, FIELDS_MOST = 1000, TYPE_I8 = 3 };
	static const struct etw_guid provider = { { 0xfe } };
	uint8_t metadata[64 + 16 * FIELDS_MOST];
	static const uint8_t payload[FIELDS_MOST];

	m->steps = EVENTS + 1;
	for (unsigned i = 0; i < EVENTS; i++) {
		struct etw_out_item item = { .type = ETW_EXTENDED_TRACELOGGING, .data = metadata };
		const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
						       .raw_time = START + (int64_t)i,
						       .provider = &provider,
						       .items = &item,
						       .item_count = 1,
						       .payload = payload,
						       .payload_size = m->count };
		size_t size = 3;

		metadata[2] = 0;
		size += 1U + (size_t)snprintf((char *)metadata + size, 32, "Event%u", i);
		for (uint32_t j = 0; j < m->count && j < FIELDS_MOST; j++) {
			size += 1U + (size_t)snprintf((char *)metadata + size, 14,
						      "field%03" PRIu32, j == 1 ? 0 : j);
			metadata[size++] = TYPE_I8;
		}
		metadata[0] = (uint8_t)size;
		metadata[1] = (uint8_t)(size >> 8);
		item.size = (uint16_t)size;
		etw_writer_add(m->events.writer, &record);
	}
}

static const struct {
	const char *name;
	void (*write)(struct many *m);
} rows[] = {
	{ "pages", pages },           { "processes", processes }, { "names", names },
	{ "starts", starts },         { "renewed", renewed },     { "files", files },
	{ "processors", processors }, { "fields", fields },
};

static bool write_many(const char *path, size_t row, uint32_t count, struct etw_error *err)
{
	bool by_processor = rows[row].write == processors;
	const struct etw_writer_options options = {
		.processors = by_processor && count > 1 ? (uint16_t)count : 1,
		.processor_index = by_processor,
		.session_name = "many",
	};
	struct many many = { .count = count };
	struct etw_writer *writer = etw_writer_open(path, &options, err);
	bool good;

	if (!writer) {
		return false;
	}
	kernel_events_init(&many.events, writer, 8);
	rows[row].write(&many);
	kernel_events_done(&many.events);
	good = etw_writer_finish(writer, err);
	etw_writer_close(writer);
	return good;
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct etw_error err = { .text = "usage: make_many FILE WHAT COUNT" };
	bool good = false;

	for (size_t row = 0; argc == 4 && row < sizeof rows / sizeof rows[0]; row++) {
		if (strcmp(argv[2], rows[row].name) == 0 && count <= MANY_MOST) {
			good = write_many(argv[1], row, (uint32_t)count, &err);
		}
	}
	if (!good) {
		fprintf(stderr, "make_many: %s\n", err.text);
	}
	return good ? 0 : 1;
}
