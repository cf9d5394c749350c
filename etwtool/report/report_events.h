/* SPDX-License-Identifier: MIT */
/*
 * Gathers for etwtool report what single records of a recording say and no counter has: the
 * machine, the processes with their lifetimes, and the files with most bytes.
 */
#ifndef ETWTOOL_REPORT_REPORT_EVENTS_H
#define ETWTOOL_REPORT_REPORT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "exporter/pipeline.h"
#include "exporter/track/derived_fields.h"
#include "exporter/track/top_sketch.h"

enum {
	REPORT_PROCESSES = 1000, /* processes that are listed; further ones are only counted */
	REPORT_FILES = 20,       /* number of files in each list */
	REPORT_RECENT_PATHS = 8192,
};

/* An instance of a process. Times are in 100 ns since 1601 UTC. */
struct report_process {
	char *name, *command; /* UTF-8, owned; command is the command line, "" if unknown */
	uint32_t process_id, parent_id;
	int64_t start, end;  /* ETW_RECORD_NO_TIME: before or after the recording */
	int32_t exit_status; /* 0 if it is not known */
	bool exit_known;
};

/* Facts about the machine that only SystemConfig/CPU states. */
struct report_machine {
	char *name;          /* UTF-8, owned; NULL: unknown */
	uint32_t memory_mib; /* 0: not known */
};

enum report_direction { REPORT_WRITTEN, REPORT_READ, REPORT_DIRECTIONS };

struct report_file {
	const char *path, *process; /* borrowed from struct report_events and the registry */
	uint64_t bytes;             /* lower bound */
	uint64_t error;             /* the upper bound is bytes + error */
};

/* A path that recent events had. */
struct report_path {
	char *raw; /* the path as recorded, not the text that is shown; owned */
	uint32_t size;
	uint32_t id; /* in report_events.paths */
};

/* Only report_events.c uses the members, except processes and machine. Zero-initialise it. */
struct report_events {
	struct report_machine machine;
	struct report_process *processes; /* owned; in the order in which they were seen */
	size_t process_count, process_capacity;
	uint64_t processes_left_out;
	struct map running;        /* process id -> index of its latest instance */
	struct registry *registry; /* borrowed */
	const struct derived_field *path, *volume, *paging;
	struct intern *paths; /* owned */
	struct report_path recent[REPORT_RECENT_PATHS];
	const struct etw_schema
		/* schema of the latest read or write; the indexes of two of its fields follow */
		*layout;
	int size_index, flags_index;
	struct top_sketch files[REPORT_DIRECTIONS];
	bool failed; /* no memory */
};

/* After a failure the caller must call report_events_done() as well. */
bool report_events_init(struct report_events *events, struct registry *registry,
			struct etw_error *err);
void report_events_done(struct report_events *events);

/* A callback of struct pipeline_observer; context is the struct report_events. */
void report_events_record(void *context, const struct etw_record *record,
			  const struct etw_event_class *class, struct tracker *tracker);

/*
 * Fills in the files with most bytes, each for one process, greatest first, and returns their
 * number, at most REPORT_FILES. Paging I/O is left out. Files whose path no event names are counted
 * as "_unknown".
 */
size_t report_files(const struct report_events *events, enum report_direction direction,
		    struct report_file files[REPORT_FILES]);

#endif
