/* SPDX-License-Identifier: MIT */
/*
 * The way of an event from one source to the registry: decode, track, rules, on the consumer's
 * thread.
 *
 * The source calls the pipeline for each record. There is no queue between the consumer and the
 * registry, because it would only be a second place to lose events.
 */
#ifndef EXPORTER_PIPELINE_H
#define EXPORTER_PIPELINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/source.h>

#include "base/error.h"
#include "base/utc.h"
#include "exporter/recorder/tap.h"
#include "exporter/replay.h"
#include "exporter/rules/rules.h"
#include "exporter/setup.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

/* Every pipeline counts into these families. The function returns them, and registers those that
 * the registry does not have yet. */
enum pipeline_family { CONSUMER_EVENTS, CONSUMER_RECORDS, CONSUMER_LOST, PIPELINE_FAMILIES };
bool pipeline_families(struct registry *registry, struct family *families[PIPELINE_FAMILIES],
		       struct etw_error *err);

/* Makes the samples of a session with value 0, before its pipeline is made. Only the thread of the
 * shard may call it, or any thread before that one runs. */
bool pipeline_make_samples(struct registry *registry, struct shard *shard, const char *session,
			   struct etw_error *err);

/* Adds the numbers of records of a session counted so far to outcomes[], by outcome. Any thread may
 * call it. */
void pipeline_add_outcomes(struct registry *registry, const char *session,
			   uint64_t outcomes[OUTCOME_COUNT]);

/* Callbacks that show a tool the records. The pipeline's thread calls them. They get no event that
 * a live session has only for the names of processes (struct live_providers). */
struct pipeline_observer {
	void *context;
	/* The event class is new, or its struct now holds another class. May be NULL. */
	void (*on_class)(void *context, const struct etw_event_class *class);
	/* Runs after the rules, while the tracker still describes this record. */
	void (*on_record)(void *context, const struct etw_record *record,
			  const struct etw_event_class *class, struct tracker *tracker);
	/* Runs in place of on_record for records that do not fulfil the probe; may be NULL. */
	void (*on_left_out)(void *context, const struct etw_record *record);
	void (*on_buffer)(void *context); /* runs in both passes; may be NULL */
	/* True: label sets are evicted near a limit, so that the counters equal those of the
	 * exporter. False: all label sets stay. */
	bool evicts;
	struct dry_run *dry_run; /* records what the rules do; may be NULL */
	uint32_t features; /* enum tracker_feature: features of the tracker to enable in addition to
			      those of the rules */
	/* on_record gets only records that fulfil the probe; NULL: it gets all. */
	const struct probe *probe;
};

/* What a pipeline uses after a reload: members as in struct pipeline_options. */
struct pipeline_reload {
	const struct setup *setup;
	bool names_only, first_session;
};

struct pipeline_options {
	/* The pointers are borrowed until pipeline_free(). */
	const struct setup *setup;
	struct etw_source *source;
	const char *session; /* value of the label "session" */
	struct shard *shard; /* belongs to the thread that runs the pipeline */
	struct names *
		names; /* shared by the pipelines of one thread; NULL: the pipeline makes its own */
	/* Of a recording only the events of this range are counted; earlier ones only say what
	 * exists. */
	struct utc_moment from, to;
	struct pace *pace; /* NULL: as fast as possible */
	/* The shard holds the gauges of the former pass (shard_hold_gauges()); the pipeline
	 * releases them when it has read the rundown of this one. */
	bool gauges_held;
	struct tap *tap; /* the flight recorder's, for this consumer; NULL: there is none */
	/* Runs before each record is counted. time: of the record, in 100 ns since 1601 UTC, or
	 * ETW_RECORD_NO_TIME. May be NULL. */
	void (*on_time)(void *context, int64_t time);
	void *time_context;
	bool live;          /* the source is a live session, whose events are not trusted */
	bool first_session; /* of several live sessions: this one shows what there is once, such as
			       the memory of processes */
	bool attached;      /* the live session is one that another program controls */
	uint64_t late_ms; /* how late the source may deliver an event; 0: events come in time order
			   */
	struct etw_schema_system system; /* of live sessions only */
	bool names_only;                 /* see struct rule_engine_options */
	/*
	 * Both may be NULL and run on the pipeline's thread. on_ready: the names of processes are
	 * known, because the first pass is done, or because events have named every process that a
	 * live session found; it may run more than once. on_snapshot: a live session has listed
	 * what exists, so that from now on only events can add to it.
	 */
	void (*on_ready)(void *context);
	void (*on_snapshot)(void *context);
	void *ready_context;
	/*
	 * A reload replaces the set-up with these members. Once *reload_due is set (with release),
	 * the pipeline calls on_reload() before it counts the next record, or at the next buffer.
	 * on_reload() resets the flag and returns what to use from then on. The pipeline calls
	 * on_reloaded() when it no longer uses the former set-up. All run on the pipeline's thread;
	 * NULL: there are no reloads.
	 */
	const atomic_bool *reload_due;
	struct pipeline_reload (*on_reload)(void *context);
	void (*on_reloaded)(void *context);
	void *reload_context;
	/* Runs between records, at least once for each buffer, in both passes. May be NULL. */
	void (*on_buffer)(void *context);
	void *buffer_context;
	const struct pipeline_observer *observer; /* may be NULL */
};

struct pipeline; /* opaque */

struct pipeline *pipeline_new(const struct pipeline_options *options, struct etw_error *err);
void pipeline_free(struct pipeline *pipeline);

/* Runs one pass over the source on the calling thread. The caller calls pipeline_reset() between
 * two passes. */
bool pipeline_run(struct pipeline *pipeline, struct etw_error *err);

/* Returns whether there is a range of times and no record was in it. */
bool pipeline_missed_range(const struct pipeline *pipeline);

/* Forgets what the trackers know and sets state gauges to 0; counters go on. */
void pipeline_reset(struct pipeline *pipeline);

/* As tracker_each_process(), between two passes. */
void pipeline_each_process(const struct pipeline *pipeline,
			   void (*visit)(void *context, uint32_t process_id, uint32_t name,
					 uint32_t image),
			   void *context);

/* All members are uint64_t. Any thread may read them with pipeline_statistics(). */
struct pipeline_statistics {
	struct etw_event_table_statistics event_table;
	struct etw_inband_statistics
		inband;                /* dropped: includes manifests that a first pass collected */
	uint64_t dropped_descriptions; /* see struct etw_trace_schemas_statistics */
	struct tracker_statistics tracker;
};
void pipeline_statistics(const struct pipeline *pipeline, struct pipeline_statistics *statistics);

/* Adds the statistics of another pipeline, or of another pass, to *sum. */
void pipeline_statistics_add(struct pipeline_statistics *sum,
			     const struct pipeline_statistics *statistics);
/* Sets the numbers of entries to 0, because a pipeline that ended has none; counts stay. */
void pipeline_statistics_end(struct pipeline_statistics *statistics);

#endif
