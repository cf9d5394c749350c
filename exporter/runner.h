/* SPDX-License-Identifier: MIT */
/*
 * Runs the sources of the program, recordings or live sessions, and keeps the statistics that
 * health reads.
 *
 * Recordings are replayed one after another on one consumer, once or in a loop. Live sessions run
 * side by side, each on a consumer of its own; the first one of the configuration takes the kernel
 * events and what the collectors need.
 */
#ifndef EXPORTER_RUNNER_H
#define EXPORTER_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "base/error.h"
#include "base/print.h"
#include "base/utc.h"
#include "exporter/pipeline.h"
#include "exporter/recorder/flight.h"
#include "exporter/recorder/tap.h"
#include "exporter/setup.h"

struct runner_options {
	/* Borrowed until runner_free(), or until a reload has replaced it and runner_uses() returns
	 * false for it. */
	const struct setup *setup;
	/* Paths of recordings, borrowed during runner_new(). Without any, the live sessions of the
	 * configuration run. */
	const char *const *paths;
	size_t path_count;
	/* Both are borrowed until runner_free(); NULL: there is none. Consumers copy their records
	 * into the taps. Health shows the recorder; `etwtool record` has taps but no recorder. */
	struct flight_recorder *recorder;
	struct taps *taps;
	/* Shows records; live sessions call it on their own threads, possibly several at a time.
	 * Borrowed until runner_free(); may be NULL. */
	const struct pipeline_observer *observer;
	/* ---- for recordings ---- */
	struct etw_source_file_options file;
	double speed; /* 0: as fast as possible */
	bool loop;
	struct utc_moment from, to; /* see struct pipeline_options */
	/* See struct pipeline_options; may be NULL. */
	void (*on_time)(void *context, int64_t time);
	void *time_context;
	/* Shows how far runner_run() has come. The caller starts and ends it. NULL: nothing is
	 * shown. */
	struct progress *progress;
	/* ---- for live sessions, see include/etw/session.h ---- */
	void (*on_fault)(const char *reason);
	/* For tests. */
	uint32_t watch_ms;
	uint32_t retry_ms;
	uint32_t stop_grace_ms;
	uint32_t snapshot_ms;
};

struct runner; /* opaque */

/*
 * Opens every recording, or starts the sessions, so that a wrong path or a missing right is
 * reported before anything runs.
 */
struct runner *runner_new(const struct runner_options *options, struct etw_error *err);
/* Stops the sessions and frees the runner, which must not run any more. NULL is fine. */
void runner_free(struct runner *runner);

/* Replays on the calling thread until the recordings end (in a loop they do not) or until
 * runner_stop(). */
bool runner_run(struct runner *runner, struct etw_error *err);

/* Runs every consumer on a thread of its own, which logs the failures of its run. */
bool runner_start(struct runner *runner, struct etw_error *err);
void runner_stop(struct runner *runner); /* any thread may call it; returns at once */
void runner_join(struct runner *runner); /* waits for the threads of runner_start(), if any */

/*
 * ---- another set-up while the runner runs; one thread at a time ----
 *
 * First call runner_reload_prepare(), which can fail and does not change what is counted. Then call
 * setup_exchange() and runner_reload(), or runner_reload_cancel().
 */

/* Starts the live sessions that only `next` has, and prepares the changes of the others. */
bool runner_reload_prepare(struct runner *runner, const struct setup *next, struct etw_error *err);
void runner_reload_cancel(struct runner *runner);

/*
 * Replaces the set-up by `next`: its rules count every further record. Live sessions get their new
 * providers and kernel events after that, so that no event comes before its rule. Sessions that
 * `next` does not have are stopped. Waits at most wait_ms for the consumers to take over the rules.
 * Returns false if a live session without events has not taken them over yet; it does so at its
 * next event.
 */
bool runner_reload(struct runner *runner, uint32_t wait_ms);

/* Returns whether a consumer still uses the set-up. Any thread may call it. */
bool runner_uses(struct runner *runner, const struct setup *setup);

/*
 * Returns whether the names of processes are known, so that labels by process are meaningful. In a
 * replay that is when the first recording has been read once. In a live session it is when events
 * have named every process that was found running, or when one flush interval has passed since the
 * processes were listed. Any thread may call it.
 */
bool runner_ready(struct runner *runner);

/* ---- for health; any thread ---- */

struct runner_session {
	struct etw_source_facts facts; /* texts are valid until runner_free() */
	const char *path; /* of a recording, valid until runner_free(); NULL: a live session */
	struct etw_source_statistics statistics;
	bool gone;            /* a reload has removed this live session from the configuration */
	uint64_t up;          /* 1 while a recording is replayed or a session runs */
	uint64_t lost_events; /* each recording counts once, however often it is replayed */
	uint64_t lost_buffers;
	uint64_t lag_ns;
	uint64_t busy_ns; /* CPU time that the consumer spent on the session */
	uint64_t unattributed[MISS_COUNT];
	uint64_t repeated; /* see struct tracker_statistics */
	/* Share of the bytes of files whose volume is known, in millionths, since the session was
	 * last started or in this pass of a recording; UINT64_MAX: no bytes so far. */
	uint64_t with_volume_millionths;
};

/* Sums over all sessions. */
struct runner_totals {
	struct pipeline_statistics
		pipeline;             /* entries of running pipelines; counts of all pipelines */
	uint64_t progress_millionths; /* share of the bytes of all recordings read in this pass */
	uint64_t position_100ns; /* time of the last event since 1970 UTC; 0 before the first */
	uint64_t finished;       /* 1 when every recording has been replayed */
	uint64_t refused_texts;  /* label values for which limits.strings had no room */
};

bool runner_is_live(const struct runner *runner);
/* Returns NULL if there is no flight recorder. */
struct flight_recorder *runner_recorder(const struct runner *runner);
/* A scrape begins: afterwards a live session may read the memory of processes once. */
void runner_note_scrape(struct runner *runner);

/* Returns the number of sessions. A session keeps its index; a reload adds sessions at the end and
 * removes none. */
size_t runner_session_count(struct runner *runner);
void runner_session(struct runner *runner, size_t index, struct runner_session *session);
void runner_totals(struct runner *runner, struct runner_totals *totals);

#endif
