/* SPDX-License-Identifier: MIT */
/*
 * The flow of an event on one page: source → decode → track → rules → registry, for one source and
 * its consumer.
 *
 * The callback that the source delivers to is the queue: there is no second one between the
 * consumer and the registry, because a second queue only adds a second place to lose events.
 */
#ifndef EXPORTER_PIPELINE_H
#define EXPORTER_PIPELINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/source.h>

#include "base/error.h"
#include "exporter/pace.h"
#include "exporter/recorder/tap.h"
#include "exporter/rules/language/probe.h"
#include "exporter/rules/rules.h"
#include "exporter/setup.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

/* The families that every pipeline counts into; registers them when they are new. */
enum pipeline_family { CONSUMER_EVENTS, CONSUMER_RECORDS, CONSUMER_LOST, PIPELINE_FAMILIES };
bool pipeline_families(struct registry *registry, struct family *families[PIPELINE_FAMILIES],
		       struct etw_error *err);

/* Makes the samples of a session that count from 0, before its pipeline does. The thread of shard
 * may call, or any before it runs. */
bool pipeline_make_samples(struct registry *registry, struct shard *shard, const char *session,
			   struct etw_error *err);

/* Adds the records of a session that are counted so far, by outcome. Any thread. */
void pipeline_add_outcomes(struct registry *registry, const char *session,
			   uint64_t outcomes[OUTCOME_COUNT]);

/* What a tool sees of the records: called on the pipeline's thread, between its records. */
struct pipeline_observer {
	void *context;
	/* An event class is new, or its struct is used for another class from now on. May be NULL.
	 */
	void (*on_class)(void *context, const struct etw_event_class *class);
	/* After the rules; the tracker still describes this record. */
	void (*on_record)(void *context, const struct etw_record *record,
			  const struct etw_event_class *class, struct tracker *tracker);
	/* Instead, for records that do not fulfil the probe; may be NULL. */
	void (*on_left_out)(void *context, const struct etw_record *record);
	void (*on_buffer)(void *context); /* in both passes; may be NULL */
	/* Label sets are given back near a limit, as without an observer: the counters are those of
	 * the exporter. Else all of them stay. */
	bool gives_back;
	struct dry_run *dry_run; /* records what the rules do; may be NULL */
	uint32_t features; /* of the tracker (enum tracker_feature), beside those of the rules */
	/* Records that do not fulfil it are not shown; NULL: all are shown. */
	const struct probe *probe;
};

/* What a pipeline uses after a reload; see struct pipeline_options. */
struct pipeline_reload {
	const struct setup *setup;
	bool names_only;
};

struct pipeline_options {
	/* All borrowed until pipeline_free(). */
	const struct setup *setup;
	struct etw_source *source;
	const char *session; /* label value */
	struct shard *shard; /* of the thread that runs the pipeline */
	struct names *names; /* shared by the pipelines of one thread; NULL: one of its own */
	struct pace *pace;   /* NULL: as fast as possible */
	struct tap *tap;     /* of the flight recorder, for this consumer; NULL: there is none */
	/* Called before each record is counted, with its time: 100 ns since 1601 UTC, or
	 * ETW_RECORD_NO_TIME. May be NULL. */
	void (*on_time)(void *context, int64_t time);
	void *time_context;
	bool live;         /* the source is a live session, whose events are not to be trusted */
	bool user_session; /* it is one without kernel events, which another one may have */
	uint64_t late_ms;  /* how late it may deliver an event; 0: all come in time order */
	struct etw_schema_system system; /* live only */
	bool names_only;                 /* see struct rule_engine_options */
	/*
	 * Both may be NULL; on the pipeline's thread. on_ready: names are known, because the first
	 * pass is done, or events have named every process that a live session found; perhaps more
	 * than once. on_snapshot: a live session has listed what exists, so that only events can
	 * add to it.
	 */
	void (*on_ready)(void *context);
	void (*on_snapshot)(void *context);
	void *ready_context;
	/*
	 * Another set-up, which a reload has made, takes the place of this one: once *reload_due is
	 * set (with release), the pipeline calls on_reload() before it counts the next record, or
	 * at the next buffer. on_reload() resets the flag and says what to use from then on, and
	 * on_reloaded() is called when nothing of the former set-up is used any more. All on the
	 * pipeline's thread; NULL: there are no reloads.
	 */
	const atomic_bool *reload_due;
	struct pipeline_reload (*on_reload)(void *context);
	void (*on_reloaded)(void *context);
	void *reload_context;
	/* Between records, at least once for each buffer, in both passes. May be NULL. */
	void (*on_buffer)(void *context);
	void *buffer_context;
	const struct pipeline_observer *observer; /* may be NULL */
};

struct pipeline; /* opaque */

struct pipeline *pipeline_new(const struct pipeline_options *options, struct etw_error *err);
void pipeline_free(struct pipeline *pipeline);

/* One pass over the source, on the calling thread. Call pipeline_reset() between two passes. */
bool pipeline_run(struct pipeline *pipeline, struct etw_error *err);

/* Forgets what the trackers know and sets state gauges to 0; counters go on. */
void pipeline_reset(struct pipeline *pipeline);

/* All members are uint64_t. Any thread may ask. */
struct pipeline_statistics {
	struct etw_event_table_statistics event_table;
	struct etw_inband_statistics
		inband;                /* dropped: also of those that a first pass collected */
	uint64_t dropped_descriptions; /* see struct etw_trace_schemas_statistics */
	struct tracker_statistics tracker;
};
void pipeline_statistics(const struct pipeline *pipeline, struct pipeline_statistics *statistics);

/* Adds those of another pipeline, or of another pass. */
void pipeline_statistics_add(struct pipeline_statistics *sum,
			     const struct pipeline_statistics *statistics);
/* Sets the entries to 0, which an ended pipeline no longer has; counts stay. */
void pipeline_statistics_end(struct pipeline_statistics *statistics);

#endif
