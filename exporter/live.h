/* SPDX-License-Identifier: MIT */
/*
 * Runs live sessions, each on a consumer of its own with a pipeline of its own, and keeps the books
 * that health reads.
 *
 * The first session of the configuration takes the kernel events and what the collectors need; user
 * sessions stand beside it.
 */
#ifndef EXPORTER_LIVE_H
#define EXPORTER_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "decode/manifest/load.h"
#include "metrics/registry.h"
#include "pipeline.h"
#include "rules/rules.h"
#include "source/source.h"

struct live_runner; /* opaque */

/* The histogram of canaries, by session (source/canary.h). NULL on failure. */
struct family *live_delay_family(struct registry *registry, struct error *err);

struct live_runner_options {
	/* Borrowed until live_free(). */
	struct registry *registry;
	const struct rule_set *rules;
	const struct config *config;
	struct configured_manifests manifests;
	/* For tests; see source/live_source.h. */
	uint32_t watch_ms;
	uint32_t retry_ms;
	uint32_t stop_grace_ms;
};

/* Starts the sessions: who may not is told before anything else happens. */
struct live_runner *live_new(const struct live_runner_options *options, struct error *err);
void live_free(
	struct live_runner *live); /* when it does not run; stops the sessions; NULL is fine */

/* Consumes, one thread a session. What happens to sessions is logged. */
bool live_start(struct live_runner *live, struct error *err);
void live_stop(struct live_runner *live); /* any thread; returns at once */
void live_join(struct live_runner *live);

/*
 * Whether the names of running processes are known, so that figures by process mean something: all
 * that were found running have been seen in events, or one flush interval has passed since. Any
 * thread.
 */
bool live_ready(const struct live_runner *live);

/* ---- for health; any thread ---- */

struct live_session {
	const char *name; /* label value; valid until live_free(), as is facts */
	const struct source_facts *facts;
	struct source_statistics statistics;
	uint64_t busy_ns; /* CPU time of the consumer */
	uint64_t unattributed[MISS_COUNT];
};

size_t live_session_count(const struct live_runner *live);
void live_session(struct live_runner *live, size_t index, struct live_session *session);
/* Sums over all sessions. */
void live_totals(struct live_runner *live, struct pipeline_statistics *totals);

#endif
