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
#include "base/progress.h"
#include "exporter/pipeline.h"
#include "exporter/recorder/flight.h"
#include "exporter/recorder/taps.h"
#include "exporter/setup.h"

struct runner_options {
	/* Borrowed until runner_free(), or until another one takes its place and runner_uses() says
	 * that it is no longer used. */
	const struct setup *setup;
	/* Recordings, borrowed during runner_new(); none: the sessions of the configuration run. */
	const char *const *paths;
	size_t path_count;
	/* Both borrowed likewise; NULL: there is none. The consumers copy their records into the
	 * taps; health shows the recorder, which etwtool record does not have. */
	struct flight_recorder *recorder;
	struct taps *taps;
	/* ---- of recordings ---- */
	struct etw_source_file_options file;
	double speed; /* 0: as fast as possible */
	bool loop;
	/* See struct pipeline_options; may be NULL. */
	void (*on_time)(void *context, int64_t time);
	void *time_context;
	const struct pipeline_observer *observer; /* borrowed until runner_free(); may be NULL */
	/* Shows how far runner_run() is; started and ended by the caller. NULL: nothing is shown.
	 */
	struct progress *progress;
	/* ---- of live sessions, see lib/live/live_source.h ---- */
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
/* When it does not run; stops the sessions. NULL is fine. */
void runner_free(struct runner *runner);

/* Replays on the calling thread until the recordings end (never, in a loop) or runner_stop(). */
bool runner_run(struct runner *runner, struct etw_error *err);

/* Runs every consumer on a thread of its own. Failures of a run are logged there. */
bool runner_start(struct runner *runner, struct etw_error *err);
void runner_stop(struct runner *runner); /* any thread; returns at once */
void runner_join(struct runner *runner); /* waits for the threads of runner_start(), if any */

/*
 * ---- another set-up while the runner runs; one thread at a time ----
 *
 * First prepare, which can fail and changes nothing that counts; then setup_exchange() and
 * runner_reload(), or runner_reload_cancel().
 */

/* Starts the live sessions that next has besides, and finds out what changes in the others. */
bool runner_reload_prepare(struct runner *runner, const struct setup *next, struct etw_error *err);
void runner_reload_cancel(struct runner *runner);

/*
 * Puts next in place: every record that is counted from now on is counted by its rules. Live
 * sessions get their new providers and kernel events after that, so that no event comes before its
 * rule; those that next does not have are stopped. Waits for the consumers to take the rules over,
 * but at most wait_ms. False: a live session that gets no events has not looked at next yet; it
 * does at its next event.
 */
bool runner_reload(struct runner *runner, uint32_t wait_ms);

/* Whether a consumer still uses the set-up. Any thread. */
bool runner_uses(struct runner *runner, const struct setup *setup);

/*
 * Whether the names of processes are known, so that values by process mean something: the first
 * recording has been read once, or every process that a live session found running has been seen
 * in events, or one flush interval has passed since. Any thread.
 */
bool runner_ready(struct runner *runner);

/* ---- for health; any thread ---- */

struct runner_session {
	struct etw_source_facts facts; /* texts are valid until runner_free() */
	const char *path;              /* of a recording, likewise; NULL: live */
	struct etw_source_statistics statistics;
	bool gone;            /* a live session that the configuration no longer has */
	uint64_t up;          /* 1 while a recording is replayed or a session runs */
	uint64_t lost_events; /* each recording counts once, however often it is replayed */
	uint64_t lost_buffers;
	uint64_t lag_ns;
	uint64_t busy_ns; /* CPU time of the consumer spent on the session */
	uint64_t unattributed[MISS_COUNT];
	uint64_t repeated; /* see struct tracker_statistics */
	/* Share of the bytes of files whose volume is known, since the session was started last or
	 * in this pass of a recording; UINT64_MAX: no bytes so far. */
	uint64_t with_volume_millionths;
};

/* Sums over all sessions. The last three are of a replay. */
struct runner_totals {
	struct pipeline_statistics pipeline; /* entries: of running pipelines; counts: of all */
	uint64_t progress_millionths;        /* of the bytes of all recordings, in this pass */
	uint64_t position_100ns; /* since 1970 UTC, of the last event; 0 before the first */
	uint64_t finished;       /* 1 when every recording has been replayed */
	uint64_t refused_texts;  /* of labels, for which limits.strings has no room */
};

bool runner_is_live(const struct runner *runner);
/* NULL: there is none. */
struct flight_recorder *runner_recorder(const struct runner *runner);
/* Sessions keep their numbers; a reload adds numbers, but takes none away. */
size_t runner_session_count(struct runner *runner);
void runner_session(struct runner *runner, size_t index, struct runner_session *session);
void runner_totals(struct runner *runner, struct runner_totals *totals);

#endif
