/* SPDX-License-Identifier: MIT */
/*
 * How fast a recording becomes metrics: everything between the file and the samples, with the
 * default collectors, both passes, as --once does it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64 };

bool bench_replay_once(const char *path, const char *config, const struct config_switch *only,
		       uint64_t *records, uint64_t *ns, struct etw_error *err)
{
	const struct setup_options options = { .switches = only,
					       .switch_count = only != NULL,
					       .disable_defaults = only != NULL,
					       .skip_off = true }; /* as the exporter */
	struct setup setup;
	const struct runner_options replay = { .setup = &setup, .paths = &path, .path_count = 1 };
	bool open = setup_open(&setup, setup_config(config, NULL, err), &options, err);
	struct runner *runner = open ? runner_new(&replay, err) : NULL;
	uint64_t start = os_monotonic_ns();
	bool done = runner && runner_run(runner, err);

	if (done) {
		struct runner_session session;

		*ns = os_monotonic_ns() - start;
		runner_session(runner, 0, &session);
		*records = session.statistics.records;
	}
	runner_free(runner);
	setup_close(&setup);
	return done;
}

int bench_replay(int argc, char **argv)
{
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double rates[RUNS_MOST];
	const char *slash;
	char name[160];
	struct etw_error err = { 0 };

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants FILE RUNS, RUNS at most %d\n", RUNS_MOST);
		return 2;
	}
	for (unsigned long run = 0; run < runs; run++) {
		uint64_t records, ns;

		if (!bench_replay_once(argv[0], NULL, NULL, &records, &ns, &err)) {
			fprintf(stderr, "etw_bench: %s\n", err.text);
			return 1;
		}
		rates[run] = (double)records * 1e3 / (double)(ns ? ns : 1);
	}
	slash = strrchr(argv[0], '/');
	snprintf(name, sizeof name, "etl.ours.%s", slash ? slash + 1 : argv[0]);
	if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".etl") == 0) {
		name[strlen(name) - 4] = '\0';
	}
	strncat(name, ".1t", sizeof name - strlen(name) - 1);
	bench_print(name, rates, runs, "Mev/s");
	return 0;
}
