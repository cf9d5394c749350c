/* SPDX-License-Identifier: MIT */
/*
 * How fast a recording is read: records a second of each pass, on one core.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>

#include "base/os.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64 };

struct passes {
	uint64_t looked;
	uint64_t delivered;
	uint64_t first_pass_end_ns;
};

static void on_first_pass(void *context, const struct etw_record *record)
{
	struct passes *passes = context;

	(void)record;
	passes->looked++;
}

static void on_first_pass_end(void *context)
{
	struct passes *passes = context;

	passes->first_pass_end_ns = os_monotonic_ns();
}

static void on_event(void *context, const struct etw_record *record)
{
	struct passes *passes = context;

	(void)record;
	passes->delivered++;
}

static void print(const char *name, const char *pass, double *values, size_t count)
{
	char text[160];

	snprintf(text, sizeof text, "etl.reader.%s.%s", name, pass);
	bench_print(text, values, count, "Mev/s");
}

static double millions_per_second(uint64_t records, uint64_t ns)
{
	return (double)records * 1e3 / (double)(ns ? ns : 1);
}

int bench_etl(int argc, char **argv)
{
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double first[RUNS_MOST], second[RUNS_MOST], both[RUNS_MOST];
	char name[100];
	struct etw_source *source;
	struct etw_error err;

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants etl FILE RUNS, RUNS at most %d\n", RUNS_MOST);
		return 2;
	}
	source = etw_source_open_file(argv[0], NULL, &err);
	if (!source) {
		fprintf(stderr, "etw_bench: %s\n", err.text);
		return 1;
	}
	snprintf(name, sizeof name, "%s", etw_source_facts(source)->name);
	if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".etl") == 0) {
		name[strlen(name) - 4] = '\0';
	}
	for (size_t run = 0; run < runs; run++) {
		struct passes passes = { 0 };
		struct etw_event_sink sink = {
			.context = &passes,
			.on_first_pass = on_first_pass,
			.on_first_pass_end = on_first_pass_end,
			.on_event = on_event,
		};
		uint64_t start = os_monotonic_ns();
		uint64_t end;

		if (!etw_source_run(source, &sink, &err)) {
			fprintf(stderr, "etw_bench: %s\n", err.text);
			etw_source_close(source);
			return 1;
		}
		end = os_monotonic_ns();
		first[run] = millions_per_second(passes.looked, passes.first_pass_end_ns - start);
		second[run] = millions_per_second(passes.delivered, end - passes.first_pass_end_ns);
		both[run] = millions_per_second(passes.delivered, end - start);
	}
	print(name, "look_ahead", first, runs);
	print(name, "deliver", second, runs);
	print(name, "both", both, runs);
	etw_source_close(source);
	return 0;
}
