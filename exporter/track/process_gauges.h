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
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "metrics/registry.h"
#include "track/lifetimes.h"

/* ---- process_gauges ---- */

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
	size_t capacity;
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

/* ---- image_info ---- */

/*
 * Which program file a running process was started from: etw_process_image_info.
 *
 * Of the images a process loads it is the one that the process is named after. Several instances
 * can share a program file; it is shown while one of them runs.
 *
 * Source: docs/metrics.md.
 */
struct shown_image; /* private */

struct image_info {
	struct registry *registry; /* borrowed */
	struct shard *shard;       /* borrowed */
	struct family *family;     /* NULL: not asked for */
	uint32_t provider;         /* label id */
	struct map by_process;     /* process id -> number in shown */
	struct map users;          /* hash of what is shown -> processes that share it */
	struct shown_image *shown; /* owned */
	uint32_t count;            /* slots in use or on the free list */
	size_t capacity;
	uint32_t free;
	uint32_t limit;   /* processes */
	uint64_t refused; /* not shown: past the limit */
};

bool image_info_init(struct image_info *info, struct registry *registry, struct shard *shard,
		     uint32_t limit, struct error *err);
void image_info_done(struct image_info *info);
void image_info_clear(struct image_info *info);

/* A process, called `label` now, has loaded an image. path: UTF-8, as recorded. */
void image_info_announce(struct image_info *info, uint32_t process_id, uint32_t label,
			 const char *path, size_t size, uint32_t checksum);

/* The process has ended, or its id begins anew. */
void image_info_forget(struct image_info *info, uint32_t process_id);

#endif
