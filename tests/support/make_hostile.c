/* SPDX-License-Identifier: MIT */
/*
 * make_hostile DIR: small recordings that are valid but not plausible. Their times stand at both
 * ends of 64 bits, their compressed buffers hold thousands of times their size, or names are
 * markup, change the direction of writing, steer a terminal, or are as long as Windows allows. One
 * more has a record of every class.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/etl/writer.h"
#include "tests/support/every_class.h"
#include "tests/support/kernel_events.h"
#include "tests/support/system.h"

enum { SERVER = 100, BOMB_BUFFERS = 128 };

#define START_2024 INT64_C(133601436000000000)
#define YEAR_100NS INT64_C(315360000000000)

static const char *folder;

static void fail(const char *path, const char *why)
{
	fprintf(stderr, "make_hostile: %s: %s\n", path, why);
	exit(1);
}

static struct etw_writer *open_recording(const char *name, const struct etw_writer_options *options)
{
	struct etw_error err = { 0 };
	struct etw_writer *writer;
	char path[1024];

	snprintf(path, sizeof path, "%s/%s.etl", folder, name);
	writer = etw_writer_open(path, options, &err);
	if (!writer) {
		fail(path, err.text);
	}
	return writer;
}

static void close_recording(const char *name, struct etw_writer *writer)
{
	struct etw_error err = { 0 };

	if (!etw_writer_finish(writer, &err)) {
		fail(name, err.text);
	}
	etw_writer_close(writer);
}

/* ---- times ---- */

/* Everything that has a duration begins here, and what began at an earlier moment ends. */
static void add_moment(struct kernel_events *k, int64_t raw_time)
{
	const struct kernel_process process = {
		.id = SERVER, .parent_id = 4, .image = "server.exe", .command_line = "server.exe"
	};
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = SERVER + 1
	};
	const struct kernel_disk disk = {
		.size = 4096, .irp = 1, .response_ticks = UINT64_MAX, .thread_id = SERVER + 1
	};
	const struct kernel_hard_fault fault = { .initial_raw = INT64_MIN,
						 .thread_id = SERVER + 1,
						 .size = 4096 };

	kernel_events_at(k, 0, raw_time, SERVER, SERVER + 1);
	event_file_end(k, 1, 4096, 0);
	event_process(k, OP_DC_START, &process);
	event_thread(k, OP_DC_START,
		     &(struct kernel_thread){ .process_id = SERVER, .id = SERVER + 1 });
	event_file_name(k, OP_FILE_NAME, 0xbee, "\\Device\\HarddiskVolume3\\data\\log.txt");
	event_file_transfer(k, OP_FILE_WRITE, &file, UINT64_MAX, UINT32_MAX, FILE_IO_CACHED_WRITE);
	event_disk(k, OP_DISK_READ, &disk);
	event_hard_fault(k, &fault);
	event_context_switch(k, &(struct kernel_switch){ .new_thread_id = SERVER + 1,
							 .old_thread_id = SERVER + 1 });
	event_ready_thread(k, SERVER + 1);
	event_dpc(k, 68, INT64_MIN, 0xfffff80000001000);
	event_isr(k, INT64_MAX, 0xfffff80000001000, 1, true);
	event_filter_call(k, OP_FILTER_PRE_COMPLETION,
			  &(struct kernel_filter_call){ .initial_raw = INT64_MIN,
							.routine = 0xfffff80000001000,
							.major = UINT32_MAX });
	event_file_transfer(k, OP_FILE_FLT_READ, &file, UINT64_MAX, UINT32_MAX, 0);
}

enum { MOMENTS_MOST = 12 };

static const struct {
	const char *name;
	int64_t start;
	uint64_t frequency;
	int64_t moments[MOMENTS_MOST]; /* raw times after 0, ascending; 0: no more */
} at_the_ends[] = {
	{ "start-min", INT64_MIN, 10000000, { 1, 10000000, 20000000 } },
	{ "start-max", INT64_MAX, 10000000, { 1, 10000000, 20000000 } },
	{ "start-near-max", INT64_MAX - 15000000, 10000000, { 1, 10000000, 20000000 } },
	{ "frequency-max", START_2024, INT64_MAX, { 1, INT64_MAX / 2, INT64_MAX } },
	{ "frequency-one", START_2024, 1, { 1, 3600, INT64_MAX } },
	{ "span", START_2024, 10000000, { INT64_MIN + 1, -1, INT64_MAX } },
	{ "no-time", START_2024, 10000000, { INT64_MIN, 10000000 } },
	{ "gaps",
	  START_2024,
	  10000000,
	  { YEAR_100NS, 2 * YEAR_100NS, 4 * YEAR_100NS, 8 * YEAR_100NS, 16 * YEAR_100NS,
	    32 * YEAR_100NS, 64 * YEAR_100NS, 128 * YEAR_100NS, 256 * YEAR_100NS,
	    512 * YEAR_100NS } },
};

static void write_times(size_t i)
{
	const struct etw_writer_options options = {
		.buffer_size = 8192,
		.perf_frequency = at_the_ends[i].frequency,
		.start_time = at_the_ends[i].start,
		.end_time = at_the_ends[i].start,
		.boot_time = at_the_ends[i].start,
		.session_name = "hostile",
	};
	struct etw_writer *writer = open_recording(at_the_ends[i].name, &options);
	struct kernel_events k;

	kernel_events_init(&k, writer, 8);
	for (unsigned j = 0; j < MOMENTS_MOST && at_the_ends[i].moments[j] != 0; j++) {
		add_moment(&k, at_the_ends[i].moments[j]);
	}
	kernel_events_done(&k);
	close_recording(at_the_ends[i].name, writer);
}

/* ---- compressed buffers ---- */

/* Buffers of 1 MiB with nothing but copies of one record. */
static void write_bomb(const char *name)
{
	static const struct etw_writer_options options = { .buffer_size = 1 << 20,
							   .header_buffer_size = 65536,
							   .compressed = true };
	struct etw_writer *writer = open_recording(name, &options);
	const struct etw_out_record record = {
		.type = ETW_RECORD_SYSTEM, .raw_time = 1, .group = GROUP_THREAD, .opcode = 50
	};

	for (unsigned i = 0; i < BOMB_BUFFERS * (options.buffer_size / 32); i++) {
		etw_writer_add(writer, &record);
	}
	close_recording(name, writer);
}

/* ---- names ---- */

enum { LONG_NAME = 30000 };

/* A process of this name writes a file of this name, and crashes. */
static void add_name(struct kernel_events *k, uint32_t id, const char *name)
{
	const struct kernel_process process = { .id = id,
						.parent_id = 4,
						.exit_status = 0xc0000005,
						.image = name,
						.command_line = "" };
	const struct kernel_file file = { .irp = id, .object = id, .key = id, .thread_id = id + 1 };
	char path[LONG_NAME + 64];

	snprintf(path, sizeof path, "\\Device\\HarddiskVolume3\\%s", name);
	event_process(k, OP_START, &process);
	event_thread(k, OP_START, &(struct kernel_thread){ .process_id = id, .id = id + 1 });
	event_file_name(k, OP_FILE_NAME, id, path);
	event_file_transfer(k, OP_FILE_WRITE, &file, 0, 1000 * id, FILE_IO_CACHED_WRITE);
	event_process(k, OP_STOP, &process);
}

static void write_names(const char *name)
{
	static const char *const names[] = {
		"</script><img src=x onerror=alert(1)>",
		"<!--<script>",
		"\"><svg onload=alert(1)>'",
		"]]></style><b>",
		"{{data}}",
		"&lt;i&gt;&amp;amp;",
		"\x1b[31mred\x07\r\n\ttab",
		"abc\xe2\x80\xaetxt.exe\xe2\x80\xa8",
		"",
	};
	const struct etw_writer_options options = { .buffer_size = 1 << 18,
						    .session_name = "<u>session</u>" };
	struct etw_writer *writer = open_recording(name, &options);
	struct kernel_events k;
	char longest[LONG_NAME + 1];
	uint32_t id = 100;

	memset(longest, 'n', LONG_NAME);
	longest[LONG_NAME] = '\0';
	kernel_events_init(&k, writer, 8);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		kernel_events_at(&k, 0, 10000000 * (int64_t)(i + 1), id, id + 1);
		add_name(&k, id, names[i]);
		id += 4;
	}
	add_name(&k, id, longest);
	kernel_events_done(&k);
	close_recording(name, writer);
}

/* ---- one of everything ---- */

static void write_every_class(const char *name)
{
	const struct etw_writer_options options = every_class_options(4, ETW_CLOCK_QPC, true);
	struct etw_writer *writer = open_recording(name, &options);

	every_class_add(writer, options.pointer_size);
	close_recording(name, writer);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: make_hostile DIR\n", stderr);
		return 2;
	}
	folder = argv[1];
	if (!system_make_folder(folder)) {
		fail(folder, strerror(errno));
	}
	for (size_t i = 0; i < sizeof at_the_ends / sizeof at_the_ends[0]; i++) {
		write_times(i);
	}
	write_bomb("bomb");
	write_names("names");
	write_every_class("every-class");
	return 0;
}
