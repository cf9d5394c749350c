/* SPDX-License-Identifier: MIT */
/*
 * A recording as the exporter replays it: records in time order, each with its event class and the
 * process that it belongs to. No collector is on, or those of a configuration.
 */
#ifndef TOOL_RECORDING_H
#define TOOL_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "decode/event_table.h"
#include "rules/engine/dry_run.h"
#include "rules/language/probe.h"
#include "source/event_record.h"
#include "source/source.h"
#include "tool/tool.h"
#include "track/derived_fields.h"

struct recording; /* opaque */

struct recording_options {
	const struct probe *probe; /* borrowed; NULL: every record is shown */
	/* A configuration whose collectors are on, with a dry run of its rules; NULL: none. */
	const char *config_path;
	struct problems *problems; /* of the configuration, for config_load(); may be NULL */
	bool derived;              /* recording_derived() is called */
	void *context;
	/* An event class is new, or its struct is used for another one from now on. May be NULL. */
	void (*on_class)(void *context, const struct event_class *class);
	/* May be NULL. */
	void (*on_record)(void *context, struct recording *recording,
			  const struct event_record *record, const struct event_class *class);
};

/*
 * Opens a recording with the manifests and the pointer size of the arguments, which are borrowed.
 * The manifests of a configuration are added to them.
 */
struct recording *recording_open(struct tool_arguments *arguments, const char *path,
				 const struct recording_options *options, struct error *err);
void recording_close(struct recording *recording);

/*
 * One pass over all records; may be called again. Event classes live until the next call. The first
 * pass warns on standard error when the recording is cut short or damaged.
 */
bool recording_run(struct recording *recording, struct error *err);

/* Ends recording_run() soon. */
void recording_stop(struct recording *recording);

/*
 * Opens the recording that is the first word of the arguments, with the built-in manifests too, as
 * rules do, and runs it once. NULL after a complaint.
 */
struct recording *recording_read(struct tool_arguments *arguments,
				 const struct recording_options *options);

/* After a run: what the source counted, losses among it. */
void recording_statistics(const struct recording *recording, struct source_statistics *statistics);

/* In on_record: the process of the record; *process_id as tracker_process() sets it. */
const char *recording_process(const struct recording *recording, uint32_t *process_id);

/*
 * In on_record: adds the value of a derived field that applies to the class, and is not .of_record,
 * as text; durations in nanoseconds. False, and nothing is added, when it is not known or there is
 * none for this event.
 */
bool recording_derived(const struct recording *recording, const struct derived_field *row,
		       const struct event_record *record, const struct event_class *class,
		       struct text *out);

/* What the configuration's rules did, in the last run. NULL: there is none. */
struct dry_run *recording_dry_run(const struct recording *recording);
struct registry *recording_registry(const struct recording *recording);

#endif
