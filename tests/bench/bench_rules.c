/* SPDX-License-Identifier: MIT */
/*
 * How fast rules on ten fields of TraceLogging events are applied, and what such an event costs
 * when no rule reads it: a recording that is made for it, and removed again, is replayed with the
 * collector of ten_fields.yaml and without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>

#include "config/config.h"
#include "lib/etl/writer.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64, EVENTS = 500000 };

/* In-types of TraceLoggingProvider.h: 1 and 2 text, 4 u8, 6 u16, 7 i32, 8 u32, 10 u64. */
static const char metadata[] = "\0\0\0Request\0Kind\0\1User\0\2Status\0\x08Size\0\x08"
			       "Duration\0\x0a"
			       "Flags\0\x08"
			       "Code\0\x07Node\0\x06Items\0\x06Priority\0\4";
static const char traits[] = "\0\0Contoso.Bench\0";

static void add_payload(struct etw_payload *payload, uint64_t number)
{
	static const char *const types[] = { "read", "write", "list", "watch" };
	static const char *const users[] = { "Alice", "Bob", "Carol", "Dave", "Eve" };
	static const uint32_t statuses[] = { 200, 200, 200, 404, 500, 302 };
	uint64_t random = bench_mix(number);

	etw_payload_clear(payload);
	etw_payload_wstring(payload, types[random % 4]);
	etw_payload_astring(payload, users[random / 4 % 5]);
	etw_payload_u32(payload, statuses[random / 20 % 6]);
	etw_payload_u32(payload, (uint32_t)(random >> 40 & 0xffff));
	etw_payload_u64(payload, random >> 44);
	etw_payload_u32(payload, (uint32_t)(random >> 20 & 7));
	etw_payload_u32(payload, (uint32_t)(random >> 24 & 1) - (uint32_t)(random >> 25 & 1));
	etw_payload_u16(payload, (uint16_t)(random >> 28 & 7));
	etw_payload_u16(payload, (uint16_t)(random >> 32 & 15));
	etw_payload_u8(payload, (uint8_t)(random >> 36 & 7));
}

bool bench_is_there(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (file) {
		fclose(file);
	}
	return file != NULL;
}

static bool build(const char *path, struct etw_error *err)
{
	const struct etw_writer_options options = { .pointer_size = 8,
						    .clock = ETW_CLOCK_QPC,
						    .buffer_size = 65536 };
	struct etw_writer *writer = etw_writer_open(path, &options, err);
	static const struct etw_guid provider = { { 0xbe, 0xbe } };
	char sized_metadata[sizeof metadata], sized_traits[sizeof traits];
	const struct etw_out_item items[] = {
		{ ETW_EXTENDED_PROVIDER_TRAITS, sizeof traits - 1, sized_traits },
		{ ETW_EXTENDED_TRACELOGGING, sizeof metadata - 1, sized_metadata }
	};
	struct etw_payload payload;
	bool done;

	if (!writer) {
		return false;
	}
	memcpy(sized_metadata, metadata, sizeof metadata);
	memcpy(sized_traits, traits, sizeof traits);
	sized_metadata[0] = sizeof metadata - 1;
	sized_traits[0] = sizeof traits - 1;
	etw_payload_init(&payload, 8);
	for (uint64_t i = 0; i < EVENTS; i++) {
		const struct etw_out_record record = {
			.type = ETW_RECORD_EVENT,
			.pointer_size = 8,
			.raw_time = etl_writer_raw_time(writer, 1000 * i),
			.process_id = (uint32_t)(100 + i % 8 * 4),
			.thread_id = 200,
			.provider = &provider,
			.level = 4,
			.items = items,
			.item_count = 2,
		};

		add_payload(&payload, i);
		etl_writer_add_payload(writer, &record, &payload);
	}
	etw_payload_done(&payload);
	done = etw_writer_finish(writer, err);
	etw_writer_close(writer);
	return done;
}

/* One line of measurements: replays with the collector, or with none. */
static bool measure(const char *path, const char *config_path, bool on, size_t runs,
		    struct etw_error *err)
{
	char name[] = "ten_fields";
	const struct config_switch collector = { .collector = name, .on = on };
	double rates[RUNS_MOST];

	for (size_t run = 0; run < runs; run++) {
		uint64_t records, ns;

		if (!bench_replay_once(path, config_path, &collector, &records, &ns, err)) {
			return false;
		}
		rates[run] = (double)records * 1e3 / (double)(ns ? ns : 1);
	}
	bench_print(on ? "rules.tracelogging.ten_fields" : "rules.tracelogging.none", rates, runs,
		    "Mev/s");
	return true;
}

int bench_rules(int argc, char **argv)
{
	unsigned long runs = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct etw_error err = { 0 };

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants rules CONFIG NEW_FILE RUNS, RUNS at most %d\n",
			RUNS_MOST);
		return 2;
	}
	if (bench_is_there(argv[1])) {
		/* Its writer would begin it anew: a file of another program must not be
		 * overwritten. */
		fprintf(stderr, "etw_bench: %s exists; rules makes a recording there\n", argv[1]);
		return 2;
	}
	if (!build(argv[1], &err) || !measure(argv[1], argv[0], true, runs, &err) ||
	    !measure(argv[1], argv[0], false, runs, &err)) {
		fprintf(stderr, "etw_bench: %s\n", err.text);
		remove(argv[1]);
		return 1;
	}
	remove(argv[1]);
	return 0;
}
