/* SPDX-License-Identifier: MIT */
/*
 * What a call of a minifilter costs the collector `minifilter`: a recording of calls by some
 * processes and drivers is replayed with the collector and without any, and removed again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "config/config.h"
#include "tests/bench/bench.h"
#include "tests/support/kernel_events.h"

enum { RUNS_MOST = 64, CALLS = 1000000, DRIVERS = 8, PROCESSES = 20, IMAGE_BYTES = 0x40000 };

#define DRIVER_BASE UINT64_C(0xfffff80a10000000)

static void add_what_exists(struct kernel_events *k)
{
	char name[32];

	for (uint32_t i = 0; i < PROCESSES; i++) {
		const struct kernel_process process = {
			.id = 8 + 4 * i, .parent_id = 4, .image = name, .command_line = ""
		};

		snprintf(name, sizeof name, "program%u.exe", (unsigned)i);
		event_process(k, OP_DC_START, &process);
	}
	for (uint32_t i = 0; i < DRIVERS; i++) {
		const struct kernel_image image = { .base = DRIVER_BASE + (uint64_t)i * IMAGE_BYTES,
						    .size = IMAGE_BYTES,
						    .file_name = name };

		snprintf(name, sizeof name, "filter%u.sys", (unsigned)i);
		event_image(k, OP_DC_START, &image);
	}
}

static void add_call(struct kernel_events *k, struct etw_writer *writer, uint64_t number)
{
	static const uint32_t majors[] = { 0, 0, 3, 3, 3, 4, 5, 18 };
	uint64_t random = bench_mix(number);
	uint32_t process = 8 + (uint32_t)(random % PROCESSES) * 4;
	const struct kernel_filter_call call = {
		.initial_raw = etl_writer_raw_time(writer, 1000 * number) -
			       (int64_t)(random >> 40 & 0xfff),
		.routine = DRIVER_BASE + (random >> 8 & (DRIVERS - 1)) * IMAGE_BYTES + 0x1230,
		.object = random,
		.irp = random >> 3,
		.major = majors[random >> 16 & 7],
	};

	kernel_events_at(k, 0, etl_writer_raw_time(writer, 1000 * number), process, process + 1);
	event_filter_call(k, number % 2 ? OP_FILTER_POST_COMPLETION : OP_FILTER_PRE_COMPLETION,
			  &call);
}

static bool build(const char *path, struct etw_error *err)
{
	const struct etw_writer_options options = { .pointer_size = 8,
						    .clock = ETW_CLOCK_QPC,
						    .buffer_size = 65536 };
	struct etw_writer *writer = etw_writer_open(path, &options, err);
	struct kernel_events k;
	bool done;

	if (!writer) {
		return false;
	}
	kernel_events_init(&k, writer, 8);
	add_what_exists(&k);
	for (uint64_t i = 0; i < CALLS; i++) {
		add_call(&k, writer, i);
	}
	kernel_events_done(&k);
	done = etw_writer_finish(writer, err);
	etw_writer_close(writer);
	return done;
}

static uint64_t processor_ns(void)
{
	struct os_process_stats stats;

	os_process_stats(&stats);
	return stats.cpu_ns;
}

/* Replays with and without the collector in turn; prints the difference for an event in time of the
 * processor, which other programs disturb less. */
static bool measure(const char *path, size_t runs, struct etw_error *err)
{
	char name[] = "minifilter";
	double costs[RUNS_MOST];

	for (size_t run = 0; run < runs; run++) {
		uint64_t records, ns[2];

		for (int on = 0; on < 2; on++) {
			const struct config_switch collector = { .collector = name, .on = on != 0 };

			uint64_t before = processor_ns(), elapsed;

			if (!bench_replay_once(path, NULL, &collector, &records, &elapsed, err)) {
				return false;
			}
			ns[on] = processor_ns() - before;
		}
		costs[run] = ((double)ns[1] - (double)ns[0]) / (double)records;
	}
	bench_print("minifilter.event", costs, runs, "ns");
	return true;
}

int bench_minifilter(int argc, char **argv)
{
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct etw_error err = { 0 };
	FILE *there;
	bool done;

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants minifilter NEW_FILE RUNS, RUNS at most %d\n",
			RUNS_MOST);
		return 2;
	}
	there = fopen(argv[0], "rb");
	if (there) {
		/* A file of another program must not be overwritten. */
		fclose(there);
		fprintf(stderr, "etw_bench: %s exists; minifilter makes a recording there\n",
			argv[0]);
		return 2;
	}
	done = build(argv[0], &err) && measure(argv[0], runs, &err);
	if (!done) {
		fprintf(stderr, "etw_bench: %s\n", err.text);
	}
	remove(argv[0]);
	return done ? 0 : 1;
}
