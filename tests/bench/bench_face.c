/* SPDX-License-Identifier: MIT */
/*
 * How fast the library delivers a recording to a user of include/etw/: events that only their
 * header is read of, one field of each, and each as JSON. Beside the rows of the reader (etl) they
 * show what the face adds.
 */
#include <stdio.h>
#include <stdlib.h>

#include <etw/etw.h>

#include "base/os.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64 };

struct sum {
	uint64_t events, values;
};

static void on_header(void *context, struct etw_event *event)
{
	struct sum *sum = context;

	sum->events++;
	sum->values += event->record->payload_size;
}

static void on_field(void *context, struct etw_event *event)
{
	static struct etw_reader reader = ETW_READER("IoSize");
	struct sum *sum = context;
	uint64_t value = 0;

	sum->events++;
	etw_read_u64(&reader, event, &value);
	sum->values += value;
}

static void on_json(void *context, struct etw_event *event)
{
	struct sum *sum = context;
	size_t size = 0;

	sum->events++;
	etw_event_json(event, &size);
	sum->values += size;
}

int bench_face(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*on_event)(void *context, struct etw_event *event);
	} rows[] = { { "header", on_header }, { "field", on_field }, { "json", on_json } };
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double values[RUNS_MOST];
	char name[80];
	struct etw_error err;

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants face FILE RUNS, RUNS at most %d\n", RUNS_MOST);
		return 2;
	}
	for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
		for (unsigned long run = 0; run < runs; run++) {
			struct sum sum = { 0 };
			uint64_t start = os_monotonic_ns();
			struct etw_trace *trace = etw_open_recording(argv[0], NULL, &err);
			const struct etw_callbacks callbacks = { .context = &sum,
								 .on_event = rows[row].on_event };

			if (!trace || !etw_run(trace, &callbacks, &err)) {
				fprintf(stderr, "etw_bench: %s\n", err.text);
				etw_close(trace);
				return 1;
			}
			etw_close(trace);
			values[run] =
				(double)sum.events * 1e3 / (double)(os_monotonic_ns() - start + 1);
		}
		snprintf(name, sizeof name, "face.%s", rows[row].name);
		bench_print(name, values, runs, "Mev/s");
	}
	return 0;
}
