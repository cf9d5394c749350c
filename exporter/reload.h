/* SPDX-License-Identifier: MIT */
/*
 * Reloading: reading the configuration again and putting it in force while the program runs.
 *
 * A configuration with an error changes nothing. Otherwise collectors, filters, path groups,
 * limits, the log and the providers of live sessions are those of the new one, no event is lost,
 * and what both configurations count continues. docs/reload.md says what needs a restart.
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
	/* The set-up of the start. The first successful reload empties it; the caller closes it in
	 * any case, after reload_free(). */
	struct setup *current;
	struct runner *runner; /* it runs already */
	struct health *health;
	/* What the command line sets has precedence over every configuration. */
	bool log_level_set, log_format_set;
	enum log_level log_level;
	enum log_format log_format;
	bool listen_addresses_set, allowed_set, telemetry_path_set;
};

struct reload *reload_new(const struct reload_options *options, struct etw_error *err);
void reload_free(struct reload *reload); /* call it when no consumer runs any more; NULL is fine */

/*
 * Reads the configuration again and puts it in force. Problems of the new configuration are logged,
 * and err has as many of them as it has room for. Returns when the configuration is in force or
 * refused. In a replay it is in force when the consumer uses it; a live session that gets no events
 * uses it from its next event on. Any thread may call it; a second call waits for the first.
 */
bool reload_now(struct reload *reload, struct etw_error *err);

/* Logs one problem of a configuration; a callback for problems_show(), at the start as well as in a
 * reload. */
void reload_log_problem(void *context, const char *sentence, bool warning);

/* Calls use() with the set-up that is in force, which stays valid during the call. Any thread may
 * call it. */
void reload_use_setup(struct reload *reload, void (*use)(void *context, const struct setup *setup),
		      void *context);

/* Lets no further reload begin, and waits for one that is under way. Call it after runner_stop(),
 * which shortens that wait. */
void reload_end(struct reload *reload);

#endif
