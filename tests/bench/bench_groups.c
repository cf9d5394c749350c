/* SPDX-License-Identifier: MIT */
/*
 * What a new path costs in path groups: ten patterns such as `**\logs\**\*0.log`, by the length of
 * the path, for a path that has the end of one pattern and one that has the end of none. Beside the
 * time it prints the characters that were compared, which are the same on each machine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/os.h"
#include "tests/bench/bench.h"

enum { PATTERNS = 10, PATH_SIZE_MAX = 1024, REPEATS = 2000, RUNS_MOST = 64 };

/* A path of folders of seven letters that ends in the text. */
static void make_path(char *path, size_t size, const char *end)
{
	memset(path, 'a', size);
	for (size_t i = 2; i < size; i += 8) {
		path[i] = '\\';
	}
	memcpy(path, "C:", 2);
	memcpy(path + size - strlen(end), end, strlen(end));
}

/* Looks for the group of a path as exporter/track/files.c does. Returns the characters compared. */
static uint64_t look(char patterns[PATTERNS][32], const size_t *ends, const char *path, size_t size)
{
	uint64_t steps = UINT64_MAX;

	for (unsigned i = 0; i < PATTERNS; i++) {
		steps--;
		if (path_glob_ends(patterns[i], ends[i], path, size) &&
		    path_glob_match(patterns[i], path, size, &steps) == PATH_GLOB_MATCHES) {
			break;
		}
	}
	return UINT64_MAX - steps;
}

int bench_groups(int argc, char **argv)
{
	static const size_t sizes[] = { 40, 100, 250, 1000 };
	static const struct {
		const char *name, *end;
	} types[] = { { "end", "x7.log" }, { "no_end", "x.txt" } };
	char patterns[PATTERNS][32], path[PATH_SIZE_MAX], name[64];
	size_t ends[PATTERNS];
	long runs = argc == 1 ? strtol(argv[0], NULL, 10) : 0;

	if (runs < 1 || runs > RUNS_MOST) {
		return 2;
	}
	for (unsigned i = 0; i < PATTERNS; i++) {
		snprintf(patterns[i], sizeof patterns[i], "**\\logs\\**\\*%u.log", i);
		ends[i] = path_glob_end_size(patterns[i]);
	}
	for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
		size_t size = sizes[i / 2];
		double values[RUNS_MOST];
		uint64_t steps = 0;

		make_path(path, size, types[i % 2].end);
		for (long run = 0; run < runs; run++) {
			uint64_t start = os_monotonic_ns();

			for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
				steps = look(patterns, ends, path, size);
			}
			values[run] = (double)(os_monotonic_ns() - start) / REPEATS / 1e3;
		}
		snprintf(name, sizeof name, "groups.%s.%zu.time", types[i % 2].name, size);
		bench_print(name, values, (size_t)runs, "us/path");
		snprintf(name, sizeof name, "groups.%s.%zu.work", types[i % 2].name, size);
		bench_print_one(name, (double)steps, "characters");
	}
	return 0;
}
