/* SPDX-License-Identifier: MIT */
/*
 * The state gauges of processes: etw_process_instances and etw_process_threads.
 *
 * They follow the events in time order and know nothing of the future: alive is what a start or
 * rundown record told of and no stop record since. Threads stand under the process that has their
 * owner's id at the moment.
 *
 * Source: docs/metrics.md.
 */
#ifndef TRACK_PROCESS_GAUGES_H
#define TRACK_PROCESS_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "metrics/registry.h"
#include "track/lifetimes.h"

struct gauge_process; /* private */

struct process_gauges {
	struct family *instances; /* NULL: not asked for */
	struct family *threads;
	struct shard *shard;             /* borrowed */
	uint32_t provider;               /* label id */
	struct map by_id;                /* process id -> number in processes */
	struct map owners;               /* thread id -> process id, of threads that are alive */
	struct gauge_process *processes; /* owned */
	uint32_t count;                  /* slots in use or on the free list */
	uint32_t capacity;
	uint32_t free;
	uint32_t process_limit;
	uint32_t thread_limit;
	uint64_t refused_processes; /* not counted in the gauges: past the limit */
	uint64_t refused_threads;
};

/* Registers the families. */
bool process_gauges_init(struct process_gauges *gauges, struct registry *registry,
			 struct shard *shard, uint32_t process_limit, uint32_t thread_limit,
			 struct error *err);
void process_gauges_done(struct process_gauges *gauges);

/* Takes everything back out of the gauges. */
void process_gauges_clear(struct process_gauges *gauges);

/* label: what the process id is called now, after the change. */
void process_gauges_process(struct process_gauges *gauges, enum lifetime_change change,
			    uint32_t process_id, uint32_t label);

/* process_id, label: of the thread's owner, as the record tells and as it is called now. */
void process_gauges_thread(struct process_gauges *gauges, enum lifetime_change change,
			   uint32_t thread_id, uint32_t process_id, uint32_t label);

#endif
