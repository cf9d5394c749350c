/* SPDX-License-Identifier: MIT */
/*
 * Replays recordings one after another on one consumer, once or in a loop, and keeps the books that
 * health reads.
 */
#ifndef EXPORTER_REPLAY_H
#define EXPORTER_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "decode/manifest/load.h"
#include "metrics/registry.h"
#include "pipeline.h"
#include "rules/rules.h"
#include "etl/source_file.h"

struct replay_options {
	const char *const *paths; /* borrowed during replay_new() */
	size_t path_count;
	struct source_file_options file;
	double speed; /* 0: as fast as possible */
	bool loop;
	/* See struct pipeline_options; NULL: nobody asks. */
	void (*on_time)(void *context, int64_t time);
	void *time_context;
	/* Borrowed until replay_free(). */
	struct registry *registry;
	const struct rule_set *rules;
	const struct config *config;
	struct configured_manifests manifests;
};

struct replay; /* opaque */

/* Opens every recording, so that a wrong path is told before anything starts. */
struct replay *replay_new(const struct replay_options *options, struct error *err);
void replay_free(struct replay *replay); /* when it does not run; NULL is fine */

/* Runs on the calling thread until the recordings end (never, in a loop) or replay_stop(). */
bool replay_run(struct replay *replay, struct error *err);

/* The same on a thread of its own. Failures of the run are logged there. */
bool replay_start(struct replay *replay, struct error *err);
void replay_stop(struct replay *replay); /* any thread; returns at once */
void replay_join(
	struct replay *replay); /* waits for the thread of replay_start(), if there is one */

/* Whether the names in the first recording are known, so that figures by process mean something.
 * Any thread. */
bool replay_ready(const struct replay *replay);

/* ---- for health; any thread ---- */

struct replay_session {
	const char *name; /* label value; the replay's */
	const char *path;
	const struct source_facts *facts; /* valid until replay_free() */
	struct source_statistics statistics;
	uint64_t lost_events; /* over every pass, each recording counted once */
	uint64_t lost_buffers;
	uint64_t buffers; /* delivered, over all passes */
	uint64_t busy_ns; /* CPU time of the consumer spent on it */
	uint64_t unattributed[MISS_COUNT];
	bool running;
};

struct replay_totals {
	struct pipeline_statistics pipeline; /* entries: of the running one; counts: of all */
	uint64_t lag_ns;
	double progress;  /* 0 to 1 of all bytes, of this pass */
	int64_t position; /* 100 ns since 1601 UTC of the last event delivered; RECORD_NO_TIME
			     before the first */
	bool finished;
};

size_t replay_session_count(const struct replay *replay);
void replay_session(struct replay *replay, size_t index, struct replay_session *session);
void replay_totals(struct replay *replay, struct replay_totals *totals);

#endif
