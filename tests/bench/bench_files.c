/* SPDX-License-Identifier: MIT */
/*
 * What a file event costs with the collector `file`: those of the kernel's FileIo, those of
 * Microsoft-Windows-Kernel-File that count in their place, and the latter beside the former, where
 * they count nothing. Each is a recording that is made for it, and removed again.
 */
#include <stdio.h>
#include <stdlib.h>

#include <etw/mirror.h>

#include "config/config.h"
#include "lib/etl/writer.h"
#include "lib/source/provider_names.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64, EVENTS = 500000, CREATE_EVERY = 16, FILE_IO_GROUP = 4 };

static const struct files_case {
	const char *name;
	bool kernel, provider; /* which events it has */
} cases[] = {
	{ "files.kernel", true, false },
	{ "files.kernel_file", false, true },
	{ "files.both", true, true },
};

/* The payloads of both sources are the same, except that the provider has the thread of a create
 * behind the file object, as FileIo version 3 has it, and flags at the end of a transfer. */
static void add_event(struct etw_writer *writer, struct etw_payload *payload, uint64_t number,
		      bool provider)
{
	bool create = number % CREATE_EVERY == 0, write = number % 2 == 1;
	uint64_t file = bench_mix(number / CREATE_EVERY) % 5000;
	struct etw_out_record record = {
		.type = provider ? ETW_RECORD_EVENT : ETW_RECORD_PERFINFO,
		.pointer_size = 8,
		.raw_time = etl_writer_raw_time(writer, 1000 * number),
		.process_id = (uint32_t)(100 + number % 8 * 4),
		.thread_id = 200,
		.group = FILE_IO_GROUP,
		.version = provider ? 1 : 3,
		.level = 4,
		.provider = &etw_known_providers[ETW_PROVIDER_KERNEL_FILE].guid,
	};
	char path[64];

	etw_payload_clear(payload);
	if (create) {
		snprintf(path, sizeof path, "\\Device\\HarddiskVolume3\\data\\%u.dat",
			 (unsigned)file);
		etw_payload_pointer(payload, 0x1000);
		etw_payload_pointer(payload, 0x100000 + 64 * file);
		etw_payload_u32(payload, 200);
		etw_payload_zeros(payload, 12);
		etw_payload_wstring(payload, path);
		record.id = ETW_FILE_EVENT_CREATE;
		record.opcode = provider ? 0 : 64;
	} else {
		etw_payload_u64(payload, 4096 * number);
		etw_payload_pointer(payload, 0x1000);
		etw_payload_pointer(payload, 0x100000 + 64 * file);
		etw_payload_pointer(payload, 0x900000 + 64 * file);
		etw_payload_u32(payload, 200);
		etw_payload_u32(payload, 4096);
		etw_payload_u32(payload, number % 8 == 7 ? 0x43 : 0x60a00);
		etw_payload_zeros(payload, provider ? 4 : 0);
		record.id = write ? ETW_FILE_EVENT_WRITE : ETW_FILE_EVENT_READ;
		record.opcode = provider ? 0 : write ? 68 : 67;
	}
	etl_writer_add_payload(writer, &record, payload);
}

static bool build(const char *path, const struct files_case *what, struct etw_error *err)
{
	const struct etw_writer_options options = { .pointer_size = 8,
						    .clock = ETW_CLOCK_QPC,
						    .buffer_size = 65536 };
	struct etw_writer *writer = etw_writer_open(path, &options, err);
	struct etw_payload payload;
	bool done;

	if (!writer) {
		return false;
	}
	etw_payload_init(&payload, 8);
	for (uint64_t i = 0; i < EVENTS; i++) {
		if (what->kernel) {
			add_event(writer, &payload, i, false);
		}
		if (what->provider) {
			add_event(writer, &payload, i, true);
		}
	}
	etw_payload_done(&payload);
	done = etw_writer_finish(writer, err);
	etw_writer_close(writer);
	return done;
}

static bool measure(const char *path, const struct files_case *what, size_t runs,
		    struct etw_error *err)
{
	char name[] = "file";
	const struct config_switch collector = { .collector = name, .on = true };
	double times[RUNS_MOST];

	if (!build(path, what, err)) {
		return false;
	}
	for (size_t run = 0; run < runs; run++) {
		uint64_t records, ns;

		if (!bench_replay_once(path, NULL, &collector, &records, &ns, err)) {
			return false;
		}
		times[run] = (double)ns / EVENTS;
	}
	bench_print(what->name, times, runs, "ns/request");
	return true;
}

int bench_files(int argc, char **argv)
{
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct etw_error err = { 0 };
	bool good = true;

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants files NEW_FILE RUNS, RUNS at most %d\n",
			RUNS_MOST);
		return 2;
	}
	if (bench_is_there(argv[0])) {
		fprintf(stderr, "etw_bench: %s exists; files makes a recording there\n", argv[0]);
		return 2;
	}
	for (size_t i = 0; i < sizeof cases / sizeof cases[0] && good; i++) {
		good = measure(argv[0], &cases[i], runs, &err);
		remove(argv[0]);
	}
	if (!good) {
		fprintf(stderr, "etw_bench: %s\n", err.text);
	}
	return good ? 0 : 1;
}
