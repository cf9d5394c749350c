/* SPDX-License-Identifier: MIT */
/*
 * Reloading: reading the configuration again and putting it in force while the program runs.
 *
 * A configuration with an error changes nothing. Otherwise collectors, filters, path groups,
 * limits, the log and the providers of live sessions are those of the new one, no event is lost,
 * and what is counted in both configurations goes on. README.md says what needs a restart.
 */
#ifndef EXPORTER_RELOAD_H
#define EXPORTER_RELOAD_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "exporter/health.h"
#include "exporter/runner.h"
#include "exporter/setup.h"

struct reload; /* opaque */

/* Everything is borrowed until reload_free(). */
struct reload_options {
	const char *config_file; /* NULL: the built-in configuration */
	const struct setup_options *setup;
	/* Of the start. Once another one is in force, it is emptied; the caller closes it in any
	 * case, after reload_free(). */
	struct setup *current;
	struct runner *runner; /* runs */
	struct health *health;
	/* What the command line says wins over any configuration. */
	bool log_level_set, log_format_set;
	enum log_level log_level;
	enum log_format log_format;
	bool listen_addresses_set, allowed_set, telemetry_path_set;
};

struct reload *reload_new(const struct reload_options *options, struct etw_error *err);
void reload_free(struct reload *reload); /* when nothing runs any more; NULL is fine */

/*
 * Reloads. What is wrong with the new configuration is logged, and err has as much of it as it has
 * room for. Returns when it is in force or refused: in a replay, when the consumer uses it; a live
 * session that has no events uses it from its next event on. Any thread; a second call waits.
 */
bool reload_now(struct reload *reload, struct etw_error *err);

/* Logs one problem of a configuration, also of that of the start; for problems_show(). */
void reload_log_problem(void *context, const char *sentence, bool warning);

/* Calls use with the set-up that is in force, which stays valid meanwhile. Any thread. */
void reload_look(struct reload *reload, void (*use)(void *context, const struct setup *setup),
		 void *context);

/* No reload begins any more; waits for one that is under way. After runner_stop(), which shortens
 * it. */
void reload_end(struct reload *reload);

#endif
