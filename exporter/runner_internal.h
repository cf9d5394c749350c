/* SPDX-License-Identifier: MIT */
/*
 * The inside of a runner, for runner.c (opening, running, statistics) and runner_reload.c (another
 * set-up while it runs).
 */
#ifndef EXPORTER_RUNNER_INTERNAL_H
#define EXPORTER_RUNNER_INTERNAL_H

#include <stdatomic.h>

#include "base/os.h"
#include "config/sessions.h"
#include "exporter/live.h"
#include "exporter/replay_log.h"
#include "exporter/runner.h"
#include "exporter/track/processes.h"

#define NEVER UINT64_MAX

/*
 * Live sessions, those included that a reload has ended. Windows runs as many, those of other
 * programs included (docs/windows.md section 1).
 */
enum { SESSIONS_MAX = CONFIG_SESSIONS_MAX };
_Static_assert(SESSIONS_MAX + 4 <= SHARDS_MAX, "shards for the consumers, health and web server");

struct session {
	struct consumer *consumer;
	char *name;                /* owned: the session label */
	char *path;                /* owned; NULL: live */
	struct etw_source *source; /* owned; NULL once a recording needs no further pass */
	struct live_session live;  /* empty for a recording */
	/* What the passes that ended came to; guarded by the runner's lock. */
	struct runner_session sum;
	/* What a live session counted before a reload ended it; likewise. */
	struct etw_source_statistics earlier;
	struct replay_log said; /* of its consumer */
	/* Of a live session: its settings when it was started; without texts and providers. */
	struct config_session started;
	/* ---- of a reload, for its thread ---- */
	struct etw_live_change *change; /* owned; what it is about to change; NULL: nothing */
	bool stays;                     /* the next configuration has the session … */
	size_t next_index;              /* … by this number */
	bool added;                     /* it is started and does not count yet */
	bool names_only;                /* see struct pipeline_options */
	bool names_only_next;
};

struct consumer {
	struct runner *runner;
	struct session *sessions; /* the runner's */
	size_t session_count;
	struct shard *shard; /* the registry's, as are the others */
	struct names *names; /* owned; one spelling for all sessions of the consumer */
	uint64_t flush_ns;
	_Atomic(bool) named;           /* the names of processes are known */
	_Atomic(uint64_t) snapshot_ns; /* when a live session listed what exists, or NEVER */
	struct os_thread thread;
	struct pipeline *pipeline; /* owned: of the session that runs, or is the next to run */
	atomic_bool reload_due;    /* its pipeline is to take over the runner's set-up */
	/* Guarded by the runner's lock. */
	const struct setup *uses;   /* by the pipeline; NULL: there is none */
	const struct setup *taking; /* that the pipeline uses, or takes over at this moment */
	bool leaving;               /* its session is stopped for good */
	bool threaded;
	struct session *current; /* the one that runs, NULL between two */
	uint64_t cpu_at_start;   /* of the consumer's thread, when the pass began */
	uint64_t bytes_before;   /* of recordings that ended in this pass over all of them */
};

struct runner {
	struct runner_options options; /* setup: guarded by the lock */
	struct registry *registry;     /* of every set-up */
	struct session *sessions;      /* owned; they do not move */
	struct consumer *consumers;    /* owned; likewise */
	/* A reload adds to them with the lock. Consumers need no lock, because their sessions do
	 * not change. */
	size_t session_count, consumer_count;
	size_t room;                         /* for sessions */
	const struct setup *next;            /* that a reload prepares */
	uint64_t bytes_total;                /* of all recordings */
	struct pace *pace;                   /* owned; NULL at full speed */
	struct etw_canary *canary;           /* owned; NULL: none could be registered */
	struct etw_session_changes *changes; /* owned; of the live sessions */
	_Atomic(bool) stopping;
	struct os_mutex lock;
	struct os_condition changed; /* a stop is requested, or a consumer has taken a set-up */
	/* Guarded by the lock. */
	struct pipeline_statistics before; /* sums over pipelines that ended */
	int64_t position;                  /* of the last event of a pass that ended */
	bool finished;
};

bool runner_stopping(const struct runner *runner);

/* Gives a consumer its shard and its names. It may be one that a session had before, whose flags
 * other threads are reading: they stay. */
bool runner_init_consumer(struct runner *runner, struct consumer *consumer,
			  const struct config *config, struct etw_error *err);
/* With the lock: starts its thread. */
bool runner_start_consumer(struct consumer *consumer, struct etw_error *err);
void runner_join_consumer(struct consumer *consumer); /* if it has a thread */

/* The names of processes are known: the callback of a consumer's pipelines. */
void runner_on_named(void *consumer);

/* The pipeline of the session that its consumer runs next. */
bool runner_make_pipeline(struct session *session, struct etw_error *err);
/* When no other thread looks at the pipeline any more. */
void runner_free_pipeline(struct consumer *consumer);

/* Facts and statistics of a source that has been opened. */
void runner_take_facts(struct session *session);

/* For the session with that number in the configuration; session has its name and its consumer. */
struct live_session_options runner_live_options(struct runner *runner,
						const struct session *session,
						const struct setup *setup, size_t index);
/* Starts a session, whose consumer is there. */
bool runner_open_session(struct runner *runner, struct session *session, const struct setup *setup,
			 size_t index, struct etw_error *err);

#endif
