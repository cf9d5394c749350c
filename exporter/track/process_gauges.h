/* SPDX-License-Identifier: MIT */
/*
 * The state gauges of processes: etw_process_instances, etw_process_threads and
 * etw_process_image_info. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/metrics.md.
 */
#ifndef TRACK_PROCESS_GAUGES_H
#define TRACK_PROCESS_GAUGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "exporter/track/lifetimes.h"
#include "metrics/registry.h"

/* ---- instances and threads ---- */

/*
 * These gauges follow the events in time order and never use the first pass. A process or thread
 * runs from its start or rundown record to its stop record. A thread counts for the process that
 * has the id of its owner at that moment.
 */

struct process_gauges {
	struct family *instances; /* NULL: not enabled */
	struct family *threads;
	struct shard *shard; /* borrowed */
	uint32_t provider;        /* label id */
	uint32_t second_provider; /* likewise, of Microsoft-Windows-Kernel-Process */
	struct map by_id;    /* process id -> struct gauge_process *, owned */
	struct map owners;   /* thread id -> process id, of running threads only */
	uint32_t process_limit;
	uint32_t thread_limit;
	uint64_t refused_processes; /* processes that are not counted in the gauges, because of the
				       limit */
	uint64_t refused_threads;
};

enum { PROCESS_GAUGES = 2 };
extern const struct family_options process_gauges_families[PROCESS_GAUGES];

/* Registers the families. The limits are the most running processes and threads that are
 * counted. */
bool process_gauges_init(struct process_gauges *gauges, struct registry *registry,
			 struct shard *shard, uint32_t process_limit, uint32_t thread_limit,
			 struct etw_error *err);
void process_gauges_done(struct process_gauges *gauges);

/* Subtracts everything that was added to the gauges. */
void process_gauges_clear(struct process_gauges *gauges);

/* A process starts, is found running or stops. label: label id of its name after the change.
 * provider: label id of the provider that says so. */
void process_gauges_process(struct process_gauges *gauges, enum lifetime_change change,
			    uint32_t process_id, uint32_t label, uint32_t provider);

/* Moves all processes to the labels that they have now, which label_of() returns; INTERN_NONE: the
 * label stays. */
void process_gauges_rename(struct process_gauges *gauges,
			   uint32_t (*label_of)(void *context, uint32_t process_id), void *context);

/* A thread starts, is found running or stops. process_id: its owner, from the record. label:
 * label id of the owner's present name. */
void process_gauges_thread(struct process_gauges *gauges, enum lifetime_change change,
			   uint32_t thread_id, uint32_t process_id, uint32_t label);

/* ---- program files ---- */

/*
 * The program file of a running process: of all images that it loads, the one that has the name of
 * the process. Several instances can share a program file; it is shown while one of them runs.
 */

struct image_info {
	struct registry *registry; /* borrowed */
	struct shard *shard;       /* borrowed */
	struct family *family;     /* NULL: not enabled */
	uint32_t provider;         /* label id */
	struct map by_process;     /* process id -> struct shown_image *, owned */
	struct map users; /* cells, as a number -> number of processes that share them; beyond a
			     limit on series, those with different labels do */
	uint32_t limit;   /* the most processes */
	uint64_t refused; /* processes that are not shown, because of the limit */
};

extern const struct family_options image_info_family;

bool image_info_init(struct image_info *info, struct registry *registry, struct shard *shard,
		     uint32_t limit, struct etw_error *err);
void image_info_done(struct image_info *info);
void image_info_clear(struct image_info *info);

/*
 * The process has loaded an image at a raw time. label: label id of the process's present name.
 * program: label id of the name of its program. path: UTF-8, as users write it. The image is
 * ignored if it is not the program file, or if the process has one already.
 */
void image_info_announce(struct image_info *info, uint32_t process_id, uint32_t label,
			 uint32_t program, const char *path, size_t size, uint32_t checksum,
			 int64_t time);

/* As process_gauges_rename(). */
void image_info_rename(struct image_info *info,
		       uint32_t (*label_of)(void *context, uint32_t process_id), void *context);

/* The process has ended, or another process starts with its id, so it no longer uses its program
 * file. An image that was loaded at `time` or later stays. */
void image_info_forget(struct image_info *info, uint32_t process_id, int64_t time);

/* ---- etw_process_info ---- */

/*
 * The gauge etw_process_info: whose a running process is. It is 1 for each combination of name,
 * account and terminal session that at least one running process has, so that queries can join it
 * to families that have only the name. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/metrics.md.
 */

enum { PROCESS_INFO_LABELS = 3 }; /* process, owner, terminal_session */

struct process_info {
	struct shard *shard;   /* borrowed */
	struct family *family; /* NULL: not enabled */
	struct map by_process; /* process id -> struct shown_process *, owned */
	struct map users;      /* cells, as a number -> number of processes that share them; beyond
				  a limit on series, those with different labels do */
	uint32_t limit;        /* the most processes */
	uint64_t refused;      /* processes that are not shown, because of the limit */
};

extern const struct family_options process_info_family;

bool process_info_init(struct process_info *info, struct registry *registry, struct shard *shard,
		       uint32_t limit, struct etw_error *err);
/* Frees it; the samples stay. */
void process_info_done(struct process_info *info);
/* Frees it, with its samples. */
void process_info_clear(struct process_info *info);

/* The process runs, with these label ids. */
void process_info_set(struct process_info *info, uint32_t process_id,
		      const uint32_t ids[PROCESS_INFO_LABELS]);
/* The process has ended. */
void process_info_forget(struct process_info *info, uint32_t process_id);

/* Asks for the labels of all processes again. labels_of returns false if a process is not known any
 * more: then its labels stay. */
void process_info_refresh(struct process_info *info,
			  bool (*labels_of)(void *context, uint32_t process_id,
					    uint32_t ids[PROCESS_INFO_LABELS]),
			  void *context);

#endif
