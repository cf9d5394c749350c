/* SPDX-License-Identifier: MIT */
/*
 * How fast a recording becomes metrics: everything between the file and the samples, with the
 * default collectors, both passes, as --once does it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "config/config.h"
#include "metrics/registry.h"
#include "replay.h"
#include "rules/rules.h"
#include "tests/bench/bench.h"

enum { RUNS_MOST = 64 };

bool bench_replay_once(const char *path, const struct config *config,
		       const struct config_switch *only, uint64_t *records, uint64_t *ns,
		       struct error *err)
{
	const struct registry_limits limits = { 0 };
	struct registry *registry = registry_new(&limits, err);
	struct rule_set_options rules_options = { .config = config,
						  .switches = only,
						  .switch_count = only != NULL,
						  .disable_defaults = only != NULL };
	struct rule_set *rules = registry ? rule_set_new(&rules_options, registry, err) : NULL;
	const struct replay_options options = {
		.paths = &path,
		.path_count = 1,
		.registry = registry,
		.rules = rules,
		.config = config,
	};
	struct replay *replay = rules ? replay_new(&options, err) : NULL;
	uint64_t start = os_monotonic_ns();
	bool done = replay && replay_run(replay, err);

	if (done) {
		struct replay_session session;

		*ns = os_monotonic_ns() - start;
		replay_session(replay, 0, &session);
		*records = session.statistics.records;
	}
	replay_free(replay);
	rule_set_free(rules);
	registry_free(registry);
	return done;
}

int bench_replay(int argc, char **argv)
{
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double rates[RUNS_MOST];
	const char *slash;
	char name[160];
	struct error err = { 0 };
	struct config *config;

	if (runs == 0 || runs > RUNS_MOST) {
		fprintf(stderr, "etw_bench: wants FILE RUNS, RUNS at most %d\n", RUNS_MOST);
		return 2;
	}
	config = config_default(&err);
	for (unsigned long run = 0; run < runs; run++) {
		uint64_t records, ns;

		if (!config || !bench_replay_once(argv[0], config, NULL, &records, &ns, &err)) {
			fprintf(stderr, "etw_bench: %s\n", err.text);
			config_free(config);
			return 1;
		}
		rates[run] = (double)records * 1e3 / (double)(ns ? ns : 1);
	}
	config_free(config);
	slash = strrchr(argv[0], '/');
	snprintf(name, sizeof name, "etl.ours.%s", slash ? slash + 1 : argv[0]);
	if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".etl") == 0) {
		name[strlen(name) - 4] = '\0';
	}
	strncat(name, ".1t", sizeof name - strlen(name) - 1);
	bench_print(name, rates, runs, "Mev/s");
	return 0;
}
