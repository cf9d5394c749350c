/* SPDX-License-Identifier: MIT */
/*
 * One collector, from text, at work on records that a test builds by hand.
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
	RUN_PERF_FREQUENCY = 2000000, /* of the performance counter */
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
	struct etw_payload payload; /* of the next record; emptied by rule_run_feed() */
	struct etw_record record;   /* header of the next record; rule_run_event() fills it */
	struct etw_guid provider;
	bool fulfils; /* the last record, the probe */
};

/* configuration: the text of an etw_exporter.yaml; NULL: the defaults. Ends the test when something
 * is refused. */
void rule_run_open(struct rule_run *run, const char *collector, const char *configuration);
/* The same with a probe, borrowed until rule_run_close(). */
void rule_run_open_probe(struct rule_run *run, const char *collector, const char *configuration,
			 const struct probe *probe);
/* A collector that ships ("file_latency"). */
void rule_run_open_shipped(struct rule_run *run, const char *name);
void rule_run_open_shipped_with(struct rule_run *run, const char *name, const char *configuration);
void rule_run_close(struct rule_run *run);

/* From the next record on, another collector takes the place of the first, as in a reload. */
void rule_run_reload(struct rule_run *run, const char *collector);
/* The same with another configuration. */
void rule_run_reload_with(struct rule_run *run, const char *collector, const char *configuration);

/* How long the machine had run at the raw time 0; before the first record. */
void rule_run_uptime(struct rule_run *run, uint64_t uptime_ns);

/* What the rules do is noted in the dry run, which ends after the run; before the first record. */
void rule_run_try(struct rule_run *run, struct dry_run *dry_run);

/* Begins a record of a kernel event ("DiskIo/Read") of the latest version known, or of that
 * version. */
void rule_run_event(struct rule_run *run, const char *event);
void rule_run_version(struct rule_run *run, const char *event, uint8_t version);
/* The same, with zeros enough for any fields, and a field of them set. */
void rule_run_blank(struct rule_run *run, const char *event);
void rule_run_zeros(struct rule_run *run); /* those zeros, for rule_run_version() */
void rule_run_set(struct rule_run *run, const char *field, uint64_t value);
void rule_run_set_text(struct rule_run *run, const char *field, const char *text); /* ASCII */
/*
 * What a manifest says about a provider's events (tests/support/inband_manifest.h); before their
 * first record.
 */
void rule_run_announce(struct rule_run *run, const char *guid, const char *name,
		       const char *inside);

/* Begins a record of another provider. */
void rule_run_other(struct rule_run *run, const char *guid, uint16_t id);

/* Shows the record to tracker and rules; the next begins with its header. */
enum record_outcome rule_run_feed(struct rule_run *run);

/* A whole record of Process/Start or Stop, thread 10 * id of it. */
void rule_run_process(struct rule_run *run, const char *event, uint32_t id, const char *image,
		      uint32_t exit_status);

/* Fails the test unless the exposition has this line, or has none that begins so. */
void rule_run_expect(struct rule_run *run, const char *line);
void rule_run_expect_none(struct rule_run *run, const char *start);

#endif
