/* SPDX-License-Identifier: MIT */
/*
 * The inside of a pipeline, for pipeline.c (the flow of a record) and pipeline_helpers.c (several
 * threads that count).
 */
#ifndef EXPORTER_PIPELINE_INTERNAL_H
#define EXPORTER_PIPELINE_INTERNAL_H

#include "decode/trace_schemas.h"
#include "pipeline.h"
#include "source/kernel_group.h"

enum { LOST_TYPES = 3 };

/* A copy of a record that the first pass cannot decode yet. */
struct deferred_record {
	struct event_record record; /* its pointers lead into this struct */
	struct guid provider;
	uint8_t payload[];
};

/*
 * The few records that can only be decoded at the end of the first pass, when the recording has
 * announced their schemas. The list is bounded: a record that does not fit is left out.
 */
struct deferred_records {
	struct deferred_record **records; /* owned, as are its elements */
	size_t count, capacity;
	size_t payload_bytes;
};

/* The counters of one session, at 0 before the first event where all labels are known. */
struct session_cells {
	struct family *events; /* by provider */
	cell *outcomes[OUTCOME_COUNT];
	cell *lost[LOST_TYPES]; /* by the type of a record that reports loss */
};

struct pipeline {
	struct pipeline_options options;
	struct trace_schemas *schemas;
	struct inband_manifests *inband; /* of a source without a first pass */
	struct schema_origins origins;
	/*
	 * Two event tables, one for each pass: the name of a class can depend on records that only
	 * the first pass finds. The statistics show the second one, whose classes have rules.
	 */
	struct event_table *ahead;
	struct event_table *event_table;
	struct usual_classes *usual;      /* of event_table */
	struct kernel_choice ahead_at;    /* the kernel records of the first pass */
	struct id_choice ahead_ids;       /* and the ids of other events */
	struct deferred_records deferred; /* of the first pass that is under way */
	struct tracker *tracker;
	struct rule_engine *engine;
	/* See shard_enter() and shard_tend(). */
	const _Atomic(uint64_t) *epoch;  /* the registry's */
	uint64_t entered;                /* what shard_enter() returned; 0: left */
	int64_t time, tended_time;       /* of the last record; of the last shard_tend() */
	const struct event_record *next; /* for report_alive() */
	uint32_t session;                /* label id */
	struct session_cells cells;
	/*
	 * Helpers count some of the records of a second pass on other threads (pipeline_helpers.c).
	 * A helper is a pipeline, too, and lead is the one that it helps.
	 */
	const struct pipeline *lead;                      /* NULL: it is no helper */
	struct pipeline *helpers[EVENT_HELPERS_MAX];      /* owned */
	struct event_helper receivers[EVENT_HELPERS_MAX]; /* the same, for the source */
	size_t helper_count;
	uint64_t left; /* records, by a helper */
	/* Look-ups of records that helpers have counted. A miss is that of a class that no other
	 * table has, so the sum does not depend on which of them counts a record. */
	struct event_table_statistics helped;
	bool crowded;           /* as of pipeline_is_crowded(), once it is */
	bool schemas_known;     /* an earlier pass has collected them */
	bool awaits_names;      /* of processes that a live session found */
	bool failed;            /* no memory for an event class: the pass is stopped and reported */
	struct event_sink sink; /* of the source that runs */
};

/* ---- pipeline.c, for helpers ---- */

/* Makes the table of event classes, whose schemas are those of pipeline->origins, and the engine.
 * The tracker is there. */
bool pipeline_make_engine(struct pipeline *pipeline, struct error *err);
/* Makes the cells of the session, and lets the pipeline be the owner of its shard. */
bool pipeline_attend(struct pipeline *pipeline, struct error *err);
/* Whether more is to be done with the records than to track and to count them. */
bool pipeline_has_extras(const struct pipeline_options *options);
/* Counts a record with a helper. False: it leaves it to the pipeline that it helps. */
bool pipeline_help_with(void *context, const struct event_record *record);
/* Nothing waits for the pipeline until its next record. */
void pipeline_leave(struct pipeline *pipeline);

/* ---- pipeline_helpers.c ---- */

/* The first pass has ended: makes helpers, if there may be some. */
void pipeline_make_helpers(struct pipeline *pipeline);
/* The second pass has ended, and so have their threads. What they have counted stays. */
void pipeline_end_helpers(struct pipeline *pipeline);
void pipeline_free_helpers(struct pipeline *pipeline);

#endif
