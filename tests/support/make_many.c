/* SPDX-License-Identifier: MIT */
/*
 * make_many FILE PROCESSES: a recording of so many processes, with long names, that write files. It
 * makes a page of about 2 KB for each process; most of its records come after they are all there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etl/writer.h"
#include "tests/support/kernel_events.h"

enum { ROUNDS = 20, FIRST_ID = 1000, NAME_SIZE = 200 };

static void begin_process(struct kernel_events *k, uint32_t id)
{
	char name[NAME_SIZE + 1];
	int size = snprintf(name, sizeof name, "program-%u-", id);
	const struct kernel_process process = {
		.id = id, .parent_id = 4, .exit_status = 259, .image = name, .command_line = name
	};

	memset(name + size, 'n', NAME_SIZE - (size_t)size);
	memcpy(name + NAME_SIZE - 4, ".exe", 5);
	event_process(k, OP_DC_START, &process);
	event_thread(k, OP_DC_START, &(struct kernel_thread){ .process_id = id, .id = id + 1 });
}

static void write_file(struct kernel_events *k, uint32_t id)
{
	const struct kernel_file file = {
		.irp = id, .object = 0xf00, .key = 0xbee, .thread_id = id + 1
	};
	const struct kernel_disk disk = { .size = 4096,
					  .response_ticks = 100,
					  .thread_id = id + 1 };

	event_file_transfer(k, OP_FILE_WRITE, &file, 0, 4096, FILE_IO_CACHED_WRITE);
	event_disk(k, OP_DISK_WRITE, &disk);
}

int main(int argc, char **argv)
{
	const struct etl_writer_options options = { .processors = 1,
						    .buffer_size = 65536,
						    .session_name = "many" };
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct etl_writer *writer = NULL;
	struct error err = { .text = "usage: make_many FILE PROCESSES" };
	struct kernel_events k;
	int64_t time = 1000;
	bool good;

	if (count > 0 && count < 1000000) {
		writer = etl_writer_open(argv[1], &options, &err);
	}
	if (!writer) {
		fprintf(stderr, "make_many: %s\n", err.text);
		return 1;
	}
	kernel_events_init(&k, writer, 8);
	kernel_events_at(&k, 0, time, 4, 8);
	event_file_name(&k, OP_FILE_NAME, 0xbee, "\\Device\\HarddiskVolume3\\data\\log.txt");
	for (uint32_t i = 0; i < count; i++) {
		begin_process(&k, FIRST_ID + 4 * i);
	}
	for (uint32_t i = 0; i < ROUNDS * count; i++) {
		uint32_t id = FIRST_ID + 4 * (i % (uint32_t)count);

		time += 10;
		kernel_events_at(&k, 0, time, id, id + 1);
		write_file(&k, id);
	}
	kernel_events_done(&k);
	good = etl_writer_finish(writer, &err);
	etl_writer_close(writer);
	if (!good) {
		fprintf(stderr, "make_many: %s\n", err.text);
	}
	return good ? 0 : 1;
}
