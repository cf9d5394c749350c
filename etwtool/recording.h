/* SPDX-License-Identifier: MIT */
/*
 * A recording as the exporter replays it: records in time order, each with its event class and its
 * process. Either no collector is on, or those of a configuration. One thread uses it.
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
#include "exporter/rules/rules.h"
#include "exporter/track/derived_fields.h"

struct recording; /* opaque */
struct setup;

struct recording_options {
	const struct probe *probe; /* selects records for on_record; borrowed; NULL: every record */
	/*
	 * Turns on the collectors of the configuration, changed by the switches (struct
	 * setup_options), and makes a dry run of their rules. If config_path is NULL, or the
	 * configuration has no `collectors`, the built-in configuration decides.
	 */
	bool collectors;
	const char *config_path;
	bool collector_too; /* config_path may also name a collector */
	/*
	 * May be NULL. Without `collectors` and config_path only the collectors that the switches
	 * turn on are on, and there is no dry run.
	 */
	const struct collector_switches *switches;
	bool every_collector;
	bool live;                 /* as in struct setup_options */
	struct problems *problems; /* problems that config_load() finds; may be NULL */
	bool derived;              /* the caller uses recording_derived() */
	/*
	 * Several recordings that are read as one; borrowed. If path_count is 0, the path of
	 * recording_open() is read.
	 */
	const char *const *paths;
	size_t path_count;
	void *context;
	/*
	 * Called when an event class is new, or when its struct is reused for another class. May be
	 * NULL.
	 */
	void (*on_class)(void *context, const struct etw_event_class *class);
	/* Called for each record that fulfils the probe. May be NULL. */
	void (*on_record)(void *context, struct recording *recording,
			  const struct etw_record *record, const struct etw_event_class *class);
	/* Called for each record that does not fulfil the probe. May be NULL. */
	void (*on_left_out)(void *context, const struct etw_record *record);
};

/*
 * The beginning of the year 10000 UTC as a wall time. RFC 3339 and the expositions of a recording
 * have times from ETW_TIME_1970 to before this one.
 */
#define TIME_10000 INT64_C(2650467744000000000)

/* The number of records, and the times of the earliest and the latest. */
struct record_times {
	uint64_t records;
	int64_t first, last; /* 100 ns since 1601 UTC; ETW_RECORD_NO_TIME: no record had a time */
};

#define RECORD_TIMES_NONE ((struct record_times){ 0, ETW_RECORD_NO_TIME, ETW_RECORD_NO_TIME })

void record_times_add(struct record_times *times, const struct etw_record *record);
/* seconds from first to last; 0 without times */
double record_times_seconds(const struct record_times *times);

/*
 * Opens a recording with the manifests and the pointer size of the arguments, which are borrowed.
 * Manifests that a configuration names are added to the arguments.
 */
struct recording *recording_open(struct tool_arguments *arguments, const char *path,
				 const struct recording_options *options, struct etw_error *err);
void recording_close(struct recording *recording);

/*
 * Reads all records once; it may be called again. Event classes live until the next call. The first
 * call warns on standard error if the recording is cut short or damaged.
 */
bool recording_run(struct recording *recording, struct etw_error *err);

/* Makes recording_run() end soon. */
void recording_stop(struct recording *recording);

/*
 * Adds the built-in manifests to those of the arguments, unless --no-builtin was given. Complains
 * and returns false on failure.
 */
bool tool_use_builtin(struct tool_arguments *arguments);

/*
 * For commands that take one recording: sets the error about a second one on the command line.
 * Returns false.
 */
bool recording_refuse_second(const char *first, const char *second, struct etw_error *err);

/*
 * Opens the recording that the first word of the arguments names, with the built-in manifests, as
 * rules use them, and runs it once. Complains and returns NULL on failure.
 */
struct recording *recording_read(struct tool_arguments *arguments,
				 const struct recording_options *options);

/* After a run: returns the times of all records, including those that the probe left out. */
const struct record_times *recording_times(const struct recording *recording);

/* After a run: gets what the source counted, such as losses. */
void recording_statistics(const struct recording *recording,
			  struct etw_source_statistics *statistics);

/*
 * Call it in on_record: returns the process of the record. *process_id is set as tracker_process()
 * does.
 */
const char *recording_process(const struct recording *recording, uint32_t *process_id);

/* Does the same in a callback of struct pipeline_observer, for its tracker. registry: that of its
 * pipeline. */
const char *record_process(struct registry *registry, struct tracker *tracker,
			   uint32_t *process_id);

/*
 * Call it in on_record: adds the value of a derived field as text; durations are in nanoseconds.
 * The field must apply to the class and must not be .of_record. Returns false and adds nothing if
 * the value is unknown or the event has none.
 */
bool recording_derived(const struct recording *recording, const struct derived_field *row,
		       const struct etw_record *record, const struct etw_event_class *class,
		       struct etw_text *out);

/* After a run: as tracker_each_process(), with texts. */
void recording_each_process(const struct recording *recording,
			    void (*visit)(void *context, uint32_t process_id, const char *name,
					  const char *image),
			    void *context);

/* The rules' dry run in the last recording_run(); NULL if there was none. */
struct dry_run *recording_dry_run(const struct recording *recording);
struct registry *recording_registry(const struct recording *recording);
const struct setup *recording_setup(const struct recording *recording);
/* After a run: gets what the pipeline counted. */
void recording_pipeline_statistics(const struct recording *recording,
				   struct pipeline_statistics *statistics);
void recording_outcomes(const struct recording *recording, uint64_t outcomes[OUTCOME_COUNT]);

#endif
