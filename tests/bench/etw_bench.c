/* SPDX-License-Identifier: MIT */
/*
 * etw_bench: measurements of the exporter's parts. tests/bench/run.sh says what to compare them
 * with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "tests/bench/bench.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_print(const char *name, double *values, size_t count, const char *unit)
{
	double median;

	qsort(values, count, sizeof *values, compare);
	median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
	printf("%-46s %14.4g %-10s min %.4g max %.4g\n", name, median, unit, values[0],
	       values[count - 1]);
	fflush(stdout);
}

void bench_print_one(const char *name, double value, const char *unit)
{
	printf("%-46s %14.4g %-10s\n", name, value, unit);
	fflush(stdout);
}

long bench_resident_kib(void)
{
	struct os_process_stats stats;

	os_process_stats(&stats);
	return (long)(stats.resident_bytes / 1024);
}

/* The reader alone, then all of the flow. */
static int bench_recording(int argc, char **argv)
{
	int status = bench_etl(argc, argv);

	return status ? status : bench_replay(argc, argv);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} parts[] = {
		{ "render", bench_render },
		{ "hist", bench_hist },
		{ "counter", bench_counter },
		{ "beside", bench_beside },
		{ "mem", bench_mem },
		{ "serve", bench_serve },
		{ "etl", bench_recording },
		{ "decode", bench_decode },
		{ "face", bench_face },
		{ "rules", bench_rules },
		{ "minifilter", bench_minifilter },
		{ "files", bench_files },
		{ "groups", bench_groups },
		{ "recorder", bench_recorder },
		{ "observe", bench_observe },
		{ "encode", bench_encode },
		{ "scrape", bench_scrape },
		{ "beside_replay", bench_beside_replay },
		{ "live", bench_live },
	};
	int status = 2;

	for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; i++) {
		if (strcmp(argv[1], parts[i].name) == 0) {
			status = parts[i].run(argc - 2, argv + 2);
		}
	}
	if (status == 2) {
		fprintf(stderr,
			"usage: %s render SERIES RUNS | hist LINES RUNS | counter | beside SERIES | mem SERIES |"
			" serve SERIES ADDRESS | etl FILE RUNS | decode FILE RUNS | face FILE RUNS | rules CONFIG NEW_FILE RUNS |"
			" minifilter NEW_FILE RUNS | groups RUNS | recorder FILE RUNS | observe | encode SERIES RUNS | scrape SERIES RUNS CLIENTS | beside_replay FILE SERIES RUNS |"
			" live FILE ROUNDS [ROW...]\n",
			argv[0]);
	}
	return status;
}
