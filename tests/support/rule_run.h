/* SPDX-License-Identifier: MIT */
/*
 * Runs a collector, given as text, on records that a test builds.
 */
#ifndef SUPPORT_RULE_RUN_H
#define SUPPORT_RULE_RUN_H

#include <etw/event_table.h>
#include <etw/mirror.h>

#include "exporter/rules/language/rule_set.h"
#include "exporter/rules/rules.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

enum {
	RUN_FREQUENCY = 10000000,     /* ticks per second of raw times */
	RUN_PERF_FREQUENCY = 2000000, /* frequency of the performance counter */
};

struct rule_run {
	struct config *config;
	struct registry *registry;
	struct rule_set *set;
	struct shard *shard;
	struct tracker *tracker;
	struct rule_engine *engine;
	struct etw_trace_schemas *schemas;
	struct etw_event_table *event_table;
	struct etw_source_clock clock;
	struct etw_payload payload; /* payload of the next record; rule_run_feed() empties it */
	struct etw_record record;   /* header of the next record; rule_run_event() fills it */
	struct etw_guid provider;
	bool fulfils; /* whether the last record fulfils the probe */
};

/* Opens a run. configuration: the text of an etw_exporter.yaml; NULL: the defaults. Fails the test
 * if a text is refused. */
void rule_run_open(struct rule_run *run, const char *collector, const char *configuration);
/* Does the same with a probe, which is borrowed until rule_run_close(). */
void rule_run_open_probe(struct rule_run *run, const char *collector, const char *configuration,
			 const struct probe *probe);
/* Do the same for a shipped collector ("file_latency"). */
void rule_run_open_shipped(struct rule_run *run, const char *name);
void rule_run_open_shipped_with(struct rule_run *run, const char *name, const char *configuration);
void rule_run_close(struct rule_run *run);

/* Replaces the collector by another one from the next record on, as a reload does. */
void rule_run_reload(struct rule_run *run, const char *collector);
/* Does the same with another configuration. */
void rule_run_reload_with(struct rule_run *run, const char *collector, const char *configuration);

/* Sets how long the machine had run at raw time 0. Call it before the first record. */
void rule_run_uptime(struct rule_run *run, uint64_t uptime_ns);

/* Notes in the dry run, which must outlive the run, what the rules do. Call it before the first
 * record. */
void rule_run_try(struct rule_run *run, struct dry_run *dry_run);

/* Begin a record of a kernel event ("DiskIo/Read") of the latest known version, or of the given
 * one. */
void rule_run_event(struct rule_run *run, const char *event);
void rule_run_version(struct rule_run *run, const char *event, uint8_t version);
/* The first begins a record with enough zeros for all fields; others then set a field. */
void rule_run_blank(struct rule_run *run, const char *event);
void rule_run_zeros(struct rule_run *run); /* adds such zeros after rule_run_version() */
void rule_run_set(struct rule_run *run, const char *field, uint64_t value);
void rule_run_set_text(struct rule_run *run, const char *field, const char *text); /* ASCII */
/*
 * Announces a manifest of a provider's events (tests/support/inband_manifest.h). Call it before
 * their first record.
 */
void rule_run_announce(struct rule_run *run, const char *guid, const char *name,
		       const char *inside);

/* Begins a record of another provider. */
void rule_run_other(struct rule_run *run, const char *guid, uint16_t id);

/* Gives the record to tracker and rules. The next record begins with the same header. */
enum record_outcome rule_run_feed(struct rule_run *run);

/* Feeds a record of Process/Start or Process/Stop by thread 10 * id of the process. */
void rule_run_process(struct rule_run *run, const char *event, uint32_t id, const char *image,
		      uint32_t exit_status);

/* Fail the test unless the exposition has this line, or if it has a line with this start. */
void rule_run_expect(struct rule_run *run, const char *line);
void rule_run_expect_none(struct rule_run *run, const char *start);

#endif
