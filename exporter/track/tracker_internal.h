/* SPDX-License-Identifier: MIT */
/*
 * The structure of a tracker, for tracker.c (making and freeing, statistics), announce.c (reading
 * records into the tables), ask.c (process and file of a record) and derived_fields.c (other values
 * of a record for rules).
 */
#ifndef TRACK_TRACKER_INTERNAL_H
#define TRACK_TRACKER_INTERNAL_H

#include <stdatomic.h>

#include "base/intern.h"
#include "base/text.h"
#include "track/attribution.h"
#include "track/disks.h"
#include "track/drivers.h"
#include "track/durations.h"
#include "track/files.h"
#include "track/process_gauges.h"
#include "track/processes.h"
#include "track/services.h"
#include "track/top_paths.h"
#include "track/tracker.h"

/* In IoFlags: transfers of memory-mapped files and of the cache. */
enum { IO_PAGING = 2 };

/* The current record, with what was resolved when it was observed, or when a value was first
 * needed. */
struct tracker_record {
	const struct event_record *record;
	const struct attribution *attribution; /* never NULL */

	bool process_known;
	uint32_t process; /* label id */
	uint32_t process_id;
	uint32_t instance; /* number in processes; 0: none */

	bool file_known;
	uint32_t file;

	bool started; /* FileIo/OperationEnd: its start was found */
	uint8_t start_opcode;
	uint32_t start_process; /* label id */
	uint64_t duration_ticks;

	struct scheduler_switch switched; /* CSwitch */
};

struct tracker {
	struct tracker_options options;
	uint32_t requested;   /* set of enum announcement */
	struct intern *texts; /* owned: paths */
	struct text scratch;  /* owned: texts of the current record */
	struct text scratch_too;
	bool in_first_pass;

	struct names *own_names; /* owned; NULL: they are shared */
	struct processes processes;
	struct threads threads;
	struct files files;
	struct file_groups *file_groups; /* owned */
	struct drivers drivers;
	struct recent requests; /* IRP -> when, opcode, label id of the process */
	struct scheduler scheduler;
	struct services services;
	struct process_gauges gauges;
	struct disks disks;
	struct image_info image_info;
	struct top_paths top_paths;

	struct tracker_record now;
	uint32_t request_names[256]; /* label ids by opcode ("FileIo/Read"); INTERN_NONE: not yet */

	_Atomic(uint64_t) entries[TABLE_COUNT];
	_Atomic(uint64_t) evictions[TABLE_COUNT];
	_Atomic(uint64_t) unattributed[MISS_COUNT];
};

static inline void tracker_miss(struct tracker *tracker, enum tracker_miss reason)
{
	_Atomic(uint64_t) *count = &tracker->unattributed[reason];

	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* The file of the record last observed, as files_find() returns it. */
uint32_t tracker_file(struct tracker *tracker);

/* Updates the statistics from the tables. */
void tracker_publish(struct tracker *tracker);
void tracker_publish_requests(struct tracker *tracker);

#endif
