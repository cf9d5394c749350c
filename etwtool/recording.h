/* SPDX-License-Identifier: MIT */
/*
 * A recording as the exporter replays it: records in time order, each with its event class and the
 * process that it belongs to. No collector is on, or those of a configuration.
 */
#ifndef ETWTOOL_RECORDING_H
#define ETWTOOL_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/record.h>
#include <etw/source.h>

#include "base/error.h"
#include "config/config.h"
#include "etwtool/tool.h"
#include "exporter/pipeline.h"
#include "exporter/rules/engine/dry_run.h"
#include "exporter/rules/language/probe.h"
#include "exporter/track/derived_fields.h"

struct recording; /* opaque */
struct setup;

struct recording_options {
	const struct probe *probe; /* borrowed; NULL: every record is shown */
	/*
	 * Collectors are on, and there is a dry run of their rules: those of the configuration, or
	 * of the built-in one if config_path is NULL, as the switches say (struct setup_options).
	 * A configuration without `collectors` means the same.
	 */
	bool collectors;
	const char *config_path;
	/* NULL: none. Without `collectors` and a configuration, those alone are on that they switch
	 * on, and there is no dry run. */
	const struct collector_switches *switches;
	bool every_collector;
	bool live;                 /* as in struct setup_options */
	struct problems *problems; /* of the configuration, for config_load(); may be NULL */
	bool derived;              /* recording_derived() is called */
	/* Several recordings that are read as one; borrowed. 0: the path of recording_open(). */
	const char *const *paths;
	size_t path_count;
	void *context;
	/* An event class is new, or its struct is used for another one from now on. May be NULL. */
	void (*on_class)(void *context, const struct etw_event_class *class);
	/* May be NULL. */
	void (*on_record)(void *context, struct recording *recording,
			  const struct etw_record *record, const struct etw_event_class *class);
	/* Instead, for records that do not fulfil the probe. May be NULL. */
	void (*on_left_out)(void *context, const struct etw_record *record);
};

/* How many records there were, and the time between the earliest and the latest. */
struct record_times {
	uint64_t records;
	int64_t first, last; /* 100 ns since 1601 UTC; ETW_RECORD_NO_TIME: no record had a time */
};

#define RECORD_TIMES_NONE ((struct record_times){ 0, ETW_RECORD_NO_TIME, ETW_RECORD_NO_TIME })

void record_times_add(struct record_times *times, const struct etw_record *record);
double record_times_seconds(const struct record_times *times); /* 0 without times */

/*
 * Opens a recording with the manifests and the pointer size of the arguments, which are borrowed.
 * The manifests of a configuration are added to them.
 */
struct recording *recording_open(struct tool_arguments *arguments, const char *path,
				 const struct recording_options *options, struct etw_error *err);
void recording_close(struct recording *recording);

/*
 * One pass over all records; may be called again. Event classes live until the next call. The first
 * pass warns on standard error when the recording is cut short or damaged.
 */
bool recording_run(struct recording *recording, struct etw_error *err);

/* Ends recording_run() soon. */
void recording_stop(struct recording *recording);

/* Adds the built-in manifests, unless the command line has --no-builtin. False after a complaint.
 */
bool tool_use_builtin(struct tool_arguments *arguments);

/* The sentence about a second recording on the command line of a command that takes one; false. */
bool recording_refuse_second(const char *first, const char *second, struct etw_error *err);

/*
 * Opens the recording that is the first word of the arguments, with the built-in manifests too, as
 * rules do, and runs it once. NULL after a complaint.
 */
struct recording *recording_read(struct tool_arguments *arguments,
				 const struct recording_options *options);

/* After a run: of all records, also those that the probe left out. */
const struct record_times *recording_times(const struct recording *recording);

/* After a run: what the source counted, losses among it. */
void recording_statistics(const struct recording *recording,
			  struct etw_source_statistics *statistics);

/* In on_record: the process of the record; *process_id as tracker_process() sets it. */
const char *recording_process(const struct recording *recording, uint32_t *process_id);

/*
 * In on_record: adds the value of a derived field that applies to the class, and is not .of_record,
 * as text; durations in nanoseconds. False, and nothing is added, when it is not known or there is
 * none for this event.
 */
bool recording_derived(const struct recording *recording, const struct derived_field *row,
		       const struct etw_record *record, const struct etw_event_class *class,
		       struct etw_text *out);

/* What the configuration's rules did, in the last run. NULL: there is none. */
struct dry_run *recording_dry_run(const struct recording *recording);
struct registry *recording_registry(const struct recording *recording);
const struct setup *recording_setup(const struct recording *recording);
/* After a run: what the pipeline counted. */
void recording_pipeline_statistics(const struct recording *recording,
				   struct pipeline_statistics *statistics);
void recording_outcomes(const struct recording *recording, uint64_t outcomes[OUTCOME_COUNT]);

#endif
