/* SPDX-License-Identifier: MIT */
/*
 * What the flight recorder costs a consumer: nanoseconds for each record that is copied into a
 * ring, and a whole replay with and without it, in turns. By the processor time of the thread, so
 * that other programs disturb it little.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "exporter/recorder/ring.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64, ADDED = 2000000, PAYLOAD = 64 };

#define MEMORY (UINT64_C(64) << 20)

/* Copies of a kernel record with a payload of 64 bytes. */
static double add_ns(struct ring *ring)
{
	static const uint8_t payload[PAYLOAD];
	static const struct ring_fact no_fact;
	struct etw_record record = { .payload = payload,
				     .payload_size = sizeof payload,
				     .type = ETW_RECORD_PERFINFO,
				     .pointer_size = 8,
				     .classic = true };
	uint64_t start = os_thread_cpu_ns();

	for (unsigned i = 0; i < ADDED; i++) {
		record.raw_time = i;
		ring_add(ring, &record, &no_fact);
	}
	return (double)(os_thread_cpu_ns() - start) / ADDED;
}

static bool replay(const char *path, bool records, uint64_t *ns, uint64_t *count,
		   struct etw_error *err)
{
	const struct setup_options options = { .switch_count = 0 };
	struct setup setup;
	struct runner_options run = { .setup = &setup, .paths = &path, .path_count = 1 };
	struct flight_recorder *recorder = NULL;
	struct runner *runner = NULL;
	struct runner_session session;
	uint64_t start;
	bool done = setup_open(&setup, setup_config(NULL, NULL, err), &options, err);

	if (done && records) {
		setup.config->recorder.dir = ".";
		setup.config->recorder.memory_bytes = MEMORY;
		recorder = flight_new(setup.config, setup.registry, 1, false, err);
		run.recorder = recorder;
		run.taps = flight_taps(recorder);
		done = recorder != NULL;
	}
	runner = done ? runner_new(&run, err) : NULL;
	start = os_thread_cpu_ns();
	done = runner && runner_run(runner, err);
	*ns = os_thread_cpu_ns() - start;
	if (done) {
		runner_session(runner, 0, &session);
		*count = session.statistics.records;
	}
	runner_free(runner);
	flight_free(recorder);
	setup_close(&setup);
	return done;
}

int bench_recorder(int argc, char **argv)
{
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double adds[RUNS_MOST], without[RUNS_MOST], with[RUNS_MOST], costs[RUNS_MOST];
	struct etw_error err = { 0 };
	struct ring *ring;

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants FILE RUNS, RUNS at most %d\n", RUNS_MOST);
		return 2;
	}
	ring = ring_new(MEMORY, &err);
	for (unsigned long run = 0; ring && run < runs; run++) {
		const struct etw_source_clock clock = { .type = ETW_CLOCK_QPC,
							.frequency = 10000000,
							.perf_frequency = 10000000 };
		uint64_t plain_ns, recorder_ns, count;

		ring_begin(ring, &clock);
		adds[run] = add_ns(ring);
		if (!replay(argv[0], false, &plain_ns, &count, &err) ||
		    !replay(argv[0], true, &recorder_ns, &count, &err)) {
			fprintf(stderr, "etw_bench: %s\n", err.text);
			ring_free(ring);
			return 1;
		}
		without[run] = (double)count * 1e3 / (double)plain_ns;
		with[run] = (double)count * 1e3 / (double)recorder_ns;
		costs[run] = ((double)recorder_ns - (double)plain_ns) / (double)count;
	}
	if (!ring) {
		fprintf(stderr, "etw_bench: %s\n", err.text);
		return 1;
	}
	ring_free(ring);
	bench_print("recorder.add.64_bytes", adds, runs, "ns/record");
	bench_print("recorder.replay.without", without, runs, "Mev/s");
	bench_print("recorder.replay.with", with, runs, "Mev/s");
	bench_print("recorder.replay.cost", costs, runs, "ns/record");
	return 0;
}
