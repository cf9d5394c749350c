/* SPDX-License-Identifier: MIT */
/*
 * A recording as the exporter replays it: names looked ahead for, records in time order, each with
 * its kind and the process that it belongs to. No collector is on, or those of a configuration.
 */
#ifndef TOOL_RECORDING_H
#define TOOL_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "decode/event_table.h"
#include "decode/manifest/load.h"
#include "rules/engine/dry_run.h"
#include "rules/language/probe.h"
#include "source/event_record.h"
#include "tool/progress.h"
#include "track/tracker.h"

struct recording; /* opaque */

struct recording_options {
	const char *command; /* named in messages */
	const char *path;
	uint8_t pointer_size; /* 0: as recorded */
	/* Borrowed; those of the configuration are added. NULL: only the recording's own. */
	struct configured_manifests *manifests;
	const struct probe *probe; /* borrowed; NULL: every record is shown */
	/* A configuration whose collectors are on and tried; NULL: none is on. */
	const char *config_path;
	void *context;
	/* A kind is new, or its struct is used for another kind from now on. May be NULL. */
	void (*on_class)(void *context, const struct event_class *class);
	/* May be NULL. */
	void (*on_record)(void *context, const struct event_record *record,
			  const struct event_class *class, struct tracker *tracker);
};

struct recording *recording_open(const struct recording_options *options, struct error *err);
void recording_close(struct recording *recording);

/* One pass over all records; may be called again. Kinds live until the next call. */
bool recording_run(struct recording *recording, struct error *err);

/* Ends recording_run() soon. */
void recording_stop(struct recording *recording);

/* The process of a record; *process_id as tracker_process() sets it. */
const char *recording_process(const struct recording *recording, struct tracker *tracker,
			      uint32_t *process_id);

/* What the configuration's rules did, in the last run. NULL: there is none. */
struct dry_run *recording_dry_run(const struct recording *recording);
struct registry *recording_registry(const struct recording *recording);

/* What the source counted: losses, and damage that was left out. */
void recording_statistics(const struct recording *recording, struct source_statistics *statistics);

#endif
