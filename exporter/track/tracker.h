/* SPDX-License-Identifier: MIT */
/*
 * Collects what events announce, to find the process, file, disk or driver of later events.
 *
 * The tables (processes, threads, files, volumes, drivers, unfinished requests, the scheduler)
 * belong to one consumer and need no lock; only tracker_statistics() may be called by other
 * threads. Every table is bounded and counts its evictions.
 *
 * A recording is read twice. tracker_first_pass() collects lifetimes in file order, and
 * tracker_first_pass_end() sorts them by time and builds the tables. So names that are only in the
 * rundown at the end also apply to earlier events (docs/etl-format.md section 16.2). Then
 * tracker_observe() is called for every record in time order, before the rules are applied. Without
 * a first pass (live, single pass) tracker_observe() alone builds the tables.
 */
#ifndef TRACK_TRACKER_H
#define TRACK_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "decode/event_table.h"
#include "metrics/registry.h"
#include "source/source.h"

struct kernel_choice; /* source/kernel_group.h */
struct names;         /* track/names.h */
struct tracker;       /* opaque */

/* What is only tracked if a derived field needs it; bits. */
enum tracker_feature {
	TRACK_FILES = 1 << 0,     /* paths, volumes, path groups */
	TRACK_REQUESTS = 1 << 1,  /* I/O requests from their start to their end */
	TRACK_DRIVERS = 1 << 2,   /* images of drivers by address */
	TRACK_SCHEDULER = 1 << 3, /* context switches */
	TRACK_SERVICES = 1 << 4,  /* services of the threads of svchost */
};

/* The kernel flags (KERNEL_FLAG_*) that a live session needs for a set of features. */
uint32_t tracker_kernel_flags(uint32_t features);

struct tracker_options {
	struct registry *registry;        /* for interned names and state gauges; borrowed */
	struct shard *shard;              /* of the consumer; borrowed */
	const struct source_clock *clock; /* of the source; borrowed */
	uint32_t processes;               /* limits in instances; 0: 20000, 200000, 200000 */
	uint32_t threads;
	uint32_t files;
	size_t strings_bytes; /* budget of path text; 0: 64 MiB */
	/* The spelling of process names, if several passes or recordings count into the same
	 * series; NULL: the tracker has its own. */
	struct names *names;
	bool lower_case;                             /* of its own names: process_case: lower */
	const struct config_path_group *path_groups; /* of PathGroup; copied */
	size_t path_group_count;
	/* State gauges, which collectors enable (docs/metrics.md); other families are not made. */
	bool process_gauges;     /* etw_process_instances, etw_process_threads */
	bool disk_info;          /* etw_disk_info, etw_disk_volume_info */
	bool image_info;         /* etw_process_image_info */
	bool top_paths;          /* etw_file_top_written_bytes */
	uint32_t top_path_count; /* places of that list; 0: 20 */
	uint32_t features;       /* set of enum tracker_feature; the others are not tracked */
};

struct tracker *tracker_new(const struct tracker_options *options, struct error *err);
void tracker_free(struct tracker *tracker);

/* Empties all tables for another pass of a recording. State gauges return to 0; statistics continue
 * to count. */
void tracker_reset(struct tracker *tracker);

/* Resolves the attribution of a new event class into class->attribution. Returns false without
 * memory. */
bool tracker_prepare(struct tracker *tracker, struct event_class *class);
/* Frees class->attribution. */
void tracker_release(struct event_class *class);

/*
 * Records without announcements for the first pass: kernel records that are not in *choice, and
 * other records for which tracker_skips_ahead() is true. tracker_first_pass() does not need them.
 */
void tracker_choose_ahead(const struct tracker *tracker, struct kernel_choice *choice);
bool tracker_skips_ahead(const struct event_record *record);

/*
 * Returns true if the record must be passed again before tracker_first_pass_end(), with an event
 * class whose schema is known by then from the recording.
 */
bool tracker_first_pass(struct tracker *tracker, const struct event_record *record,
			const struct event_class *class);
void tracker_first_pass_end(struct tracker *tracker);

/* Call it before the rules are applied. Collects what the record announces; after that, derived
 * fields of this record can be read. */
void tracker_observe(struct tracker *tracker, const struct event_record *record,
		     const struct event_class *class);

/* Call it after tracker_observe() for a record that passes all filters: adds the bytes that it
 * writes to the list of the most written paths. */
void tracker_count(struct tracker *tracker);

/* Call it when no record follows before tracker_reset(): shows what has not been shown yet. */
void tracker_end(struct tracker *tracker);

/*
 * What a live session found when it started, between two records: a running process, a thread and
 * its process, and the device of a drive ("C:"). It is used if no event announces the same; state
 * gauges only count events. tracker_reset() drops it.
 */
void tracker_name_process(struct tracker *tracker, uint32_t process_id, const char *name,
			  size_t size);
void tracker_own_thread(struct tracker *tracker, uint32_t thread_id, uint32_t process_id);
void tracker_map_volume(struct tracker *tracker, const char *nt_path, const char *dos_path);

/* The number of these processes that no event has announced yet. */
size_t tracker_unseen_processes(struct tracker *tracker);

/* ---- the current record; derived_fields.h has the other values for rules ---- */

/* The process of the record, by section 16.1, as a label id; it can be `_none` or `_unknown`.
 * *process_id, if not NULL: its id or RECORD_NO_ID. */
uint32_t tracker_process(struct tracker *tracker, uint32_t *process_id);

/* An id for the instance of the record's process, which changes if a process ends and another one
 * starts with the same process id; 0: not known. For `set` gauges. */
uint64_t tracker_instance(struct tracker *tracker);

/*
 * The process id that the record ends: by the stop of a process, or by the start of another one
 * with its id if the stop was lost. Returns false for other records. *instance is the instance that
 * ends, or 0: only events of the kernel end instances, since those of
 * Microsoft-Windows-Kernel-Process announce the same processes at slightly different times.
 */
bool tracker_ended_process(struct tracker *tracker, uint32_t *process_id, uint64_t *instance);

/* ---- health; any thread ---- */
/* The last two are tables of the rules; the pipeline fills them in. */
enum tracker_table {
	TABLE_PROCESS,
	TABLE_THREAD,
	TABLE_FILE,
	TABLE_IRP,
	TABLE_IMAGE,
	TABLE_PAIR,
	TABLE_GAUGE,
	TABLE_COUNT
};
enum tracker_miss { MISS_THREAD, MISS_PROCESS, MISS_FILE, MISS_DISK, MISS_COUNT };

struct tracker_statistics {
	uint64_t entries[TABLE_COUNT];
	uint64_t evictions[TABLE_COUNT];
	uint64_t unattributed[MISS_COUNT]; /* events whose thread, process, file or disk no event
					      had named */
};

const char *tracker_table_name(enum tracker_table table); /* "process", "thread", "file", "irp",
							     "image", "pair", "gauge" */
const char *tracker_miss_name(enum tracker_miss miss);    /* "thread", "process", "file", "disk" */
void tracker_statistics(const struct tracker *tracker, struct tracker_statistics *statistics);

#endif
