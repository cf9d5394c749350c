/* SPDX-License-Identifier: MIT */
/*
 * The structs of a runner, which only runner.c (opening, running, statistics) and runner_reload.c
 * (replacing the set-up while it runs) use.
 */
#ifndef EXPORTER_RUNNER_INTERNAL_H
#define EXPORTER_RUNNER_INTERNAL_H

#include <stdatomic.h>

#include "base/os.h"
#include "config/config.h"
#include "exporter/live.h"
#include "exporter/replay.h"
#include "exporter/runner.h"
#include "exporter/track/processes.h"

#define NEVER UINT64_MAX

/*
 * The most live sessions a runner can have, including those that a reload has ended. Windows runs
 * at most as many in all programs together (docs/windows.md section 1).
 */
enum { SESSIONS_MAX = CONFIG_SESSIONS_MAX };
_Static_assert(SESSIONS_MAX + 4 <= SHARDS_MAX, "shards for the consumers, health and web server");

struct session {
	struct consumer *consumer;
	char *name;                /* owned: the session label */
	char *path;                /* owned; NULL: live */
	struct etw_source *source; /* owned; NULL when a recording needs no further pass */
	struct live_session live;  /* empty for a recording */
	/* Sums over the passes that have ended; guarded by the runner's lock. */
	struct runner_session sum;
	/* What a live session counted before a reload ended it; guarded by the runner's lock. */
	struct etw_source_statistics earlier;
	struct replay_log logged; /* used by its consumer's thread */
	/* The settings with which a live session was started, without texts and providers. */
	struct config_session started;
	/* ---- used by the thread of a reload ---- */
	struct etw_live_change *change; /* owned; the prepared change; NULL: nothing changes */
	bool stays;                     /* the next configuration has the session … */
	size_t next_index;              /* … by this number */
	bool added;                     /* it is started but does not count yet */
	bool names_only_next;           /* names_only of the next configuration */
	bool names_only, is_first;      /* see struct pipeline_options; guarded by the lock */
};

struct consumer {
	struct runner *runner;
	struct session *sessions; /* the runner's */
	size_t session_count;
	struct shard *shard; /* owned by the registry */
	struct names *names; /* owned; shared by all sessions of the consumer */
	uint64_t flush_ns;
	_Atomic(bool) named;           /* the names of processes are known */
	_Atomic(uint64_t) snapshot_ns; /* when a live session listed what exists, in ns; or NEVER */
	struct os_thread thread;
	struct pipeline *pipeline; /* owned; runs the present session, or will run the next */
	atomic_bool reload_due;    /* the pipeline must take over the runner's set-up */
	/* Guarded by the runner's lock. */
	const struct setup *uses;   /* the set-up that the pipeline uses; NULL: none */
	const struct setup *taking; /* the set-up that the pipeline uses or is taking over */
	bool leaving;               /* its session is stopped and will not start again */
	bool threaded;
	struct session *current; /* the session that runs; NULL between two sessions */
	uint64_t cpu_at_start;   /* CPU time of the consumer's thread when the pass began */
	bool gauges_held; /* by shard_hold_gauges(), for the next pipeline; its thread's alone */
	uint64_t bytes_before; /* bytes of the recordings finished in this turn of the loop */
};

struct runner {
	struct runner_options options; /* setup: guarded by the lock */
	struct registry *registry;     /* shared by all set-ups */
	struct session *sessions;      /* owned; the array does not move */
	struct consumer *consumers;    /* owned; the array does not move */
	/* A reload increases the counts while it holds the lock. Consumers need no lock, because
	 * their own sessions do not change. */
	size_t session_count, consumer_count;
	size_t room;                         /* capacity of sessions[] */
	const struct setup *next;            /* the set-up that a reload prepares */
	uint64_t bytes_total;                /* bytes of all recordings */
	struct pace *pace;                   /* owned; NULL at full speed */
	struct etw_canary *canary;           /* owned; NULL: none could be registered */
	struct etw_session_changes *changes; /* owned; shared by the live sessions */
	_Atomic(bool) stopping;
	_Atomic(bool) memory_due; /* there was a scrape since the memory of processes was read */
	struct os_mutex lock;
	struct os_condition changed; /* a stop is requested, or a consumer has taken a set-up */
	/* Guarded by the lock. */
	struct pipeline_statistics before; /* sums over pipelines that ended */
	int64_t position;                  /* time of the last event of a pass that has ended */
	bool finished;
};

bool runner_stopping(const struct runner *runner);

/* Gives a consumer its shard and its names. If the consumer served a session before, other threads
 * may still read its flags, so they are left unchanged. */
bool runner_init_consumer(struct runner *runner, struct consumer *consumer,
			  const struct config *config, struct etw_error *err);
/* Starts the consumer's thread. The caller holds the lock. */
bool runner_start_consumer(struct consumer *consumer, struct etw_error *err);
void runner_join_consumer(struct consumer *consumer); /* returns at once if it has no thread */

/* A callback of the consumer's pipelines: the names of processes are known. */
void runner_on_named(void *consumer);

/* Makes the pipeline of the session that the consumer runs next. */
bool runner_make_pipeline(struct session *session, struct etw_error *err);
/* Frees the consumer's pipeline, after no other thread reads it any more. */
void runner_free_pipeline(struct consumer *consumer);

/* Copies facts and statistics of a source that has been opened into the session. */
void runner_copy_facts(struct session *session);

/* Returns the options of the session with that index in the configuration. session has its name and
 * its consumer already. */
struct live_session_options runner_live_options(struct runner *runner,
						const struct session *session,
						const struct setup *setup, size_t index);
/* Starts a session; its consumer must have been initialised. */
bool runner_open_session(struct runner *runner, struct session *session, const struct setup *setup,
			 size_t index, struct etw_error *err);

#endif
