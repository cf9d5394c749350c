/* SPDX-License-Identifier: MIT */
/*
 * The state gauges of processes: etw_process_instances, etw_process_threads, etw_process_info and
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
	struct shard *shard;      /* borrowed */
	uint32_t provider;        /* label id */
	uint32_t second_provider; /* label id of Microsoft-Windows-Kernel-Process */
	struct map by_id;         /* process id -> struct gauge_process *, owned */
	struct map owners;        /* thread id -> process id, of running threads only */
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

/* ---- info metrics ---- */

/*
 * An info metric of processes: 1 for each label set that at least one running process has, so that
 * queries can join the labels to families that have only the name. etw_process_info says whose a
 * process is, etw_process_image_info which file its program is in: of all images that it loads, the
 * one that has the name of the process.
 */

enum { INFO_LABELS_MAX = 4 };

struct info_metric {
	struct registry *registry; /* borrowed */
	struct shard *shard;       /* borrowed */
	struct family *family;     /* NULL: not enabled */
	size_t label_count;
	struct map by_process; /* process id -> struct info_row *, owned */
	struct map users; /* cells, as a number -> number of processes that share them; beyond a
			     limit on series, those with different labels do */
	uint32_t limit;   /* the most processes */
	uint64_t refused; /* processes that are not shown, because of the limit */
};

/* Label ids: process, owner, terminal_session; and process, provider, path, checksum. */
extern const struct family_options process_info_family, image_info_family;

/* Registers the family that is declared. */
bool info_metric_init(struct info_metric *info, const struct family_options *declaration,
		      struct registry *registry, struct shard *shard, uint32_t limit,
		      struct etw_error *err);
/* Frees the memory; the samples stay. A zeroed struct is fine. */
void info_metric_done(struct info_metric *info);
/* Frees the memory and hides the samples. */
void info_metric_clear(struct info_metric *info);

/* The process runs, with these label ids, one for each label of the family. since: if it is new
 * here, the raw time at which an event said so; LIFETIME_ALWAYS if that does not matter. */
void info_metric_set(struct info_metric *info, uint32_t process_id, const uint32_t *ids,
		     int64_t since);

/* A process has ended, or another one starts with its id, at a raw time: removes its labels, unless
 * they were set with that time or a later one, because then they are those of the next process. */
void info_metric_forget(struct info_metric *info, uint32_t process_id, int64_t time);

/* Sets ids[], which has the present label ids of a process, to those that it should have. Returns
 * false if they stay. */
typedef bool info_labels_function(void *context, uint32_t process_id, uint32_t *ids);

/* Asks for the labels of all processes again. */
void info_metric_refresh(struct info_metric *info, info_labels_function *labels_of, void *context);

/*
 * The process has loaded an image at a raw time. label: label id of the process's present name.
 * program: label id of the name of its program. path: UTF-8, as users write it. The image is
 * ignored if it is not the program file, or if the process has one already.
 */
void image_info_announce(struct info_metric *info, uint32_t process_id, uint32_t label,
			 uint32_t program, const char *path, size_t size, uint32_t checksum,
			 int64_t time);

#endif
