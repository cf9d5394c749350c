/* SPDX-License-Identifier: MIT */
/*
 * Remembers what earlier events announced, and finds from it which process, file, disk or driver an
 * event is about.
 *
 * The tables (processes, threads, files, volumes, drivers, requests under way, the scheduler)
 * belong to one consumer: no lock, only tracker_statistics() may be called by other threads. Every
 * table is bounded and counts what it evicts.
 *
 * A recording is shown twice. tracker_first_pass() collects lifetimes in file order;
 * tracker_first_pass_end() sorts them by time and builds the tables, so that names which only the
 * rundown at the end contains reach earlier events (docs/etl-format.md section 16.2). Then
 * tracker_observe() is called for every record in time order, before the rules see it. Without a
 * first pass (live, single pass) tracker_observe() alone builds the tables.
 */
#ifndef TRACK_TRACKER_H
#define TRACK_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/source.h>

#include "base/error.h"
#include "config/config.h"
#include "metrics/registry.h"

struct etw_kernel_choice; /* lib/source/kernel_group.h */
struct names;             /* exporter/track/processes.h */
struct tracker;           /* opaque */

/* What is tracked only for derived fields that need it; bits. */
enum tracker_feature {
	TRACK_FILES = 1 << 0,     /* paths, volumes, path groups */
	TRACK_REQUESTS = 1 << 1,  /* I/O requests from their start to their end */
	TRACK_DRIVERS = 1 << 2,   /* images of drivers by address */
	TRACK_SCHEDULER = 1 << 3, /* context switches */
	TRACK_SERVICES = 1 << 4,  /* services of the threads of svchost */
	TRACK_SOURCES = 1 << 5,   /* which source of file events there is */
};

/* The kernel flags (KERNEL_FLAG_*) that a live session needs for a set of features. */
uint32_t tracker_kernel_flags(uint32_t features);

struct tracker_options {
	struct registry *registry; /* where names are interned and state gauges shown; borrowed */
	struct shard *shard;       /* of the consumer; borrowed */
	const struct etw_source_clock *clock; /* of the source; borrowed */
	uint32_t processes;                   /* limits in instances; 0: 20000, 200000, 200000 */
	uint32_t threads;
	uint32_t files;
	size_t strings_bytes; /* budget of path text; 0: 64 MiB */
	/* The spelling of process names, where several passes or recordings count into the same
	 * series; NULL: its own. */
	struct names *names;
	bool lower_case;                             /* of its own names: process_case: lower */
	const struct config_path_group *path_groups; /* of PathGroup; copied */
	size_t path_group_count;
	/* State gauges belong to collectors (docs/metrics.md); families are made only when
	 * enabled. */
	bool process_gauges;     /* etw_process_instances, etw_process_threads */
	bool disk_info;          /* etw_disk_info, etw_disk_volume_info */
	bool image_info;         /* etw_process_image_info */
	bool top_paths;          /* etw_file_top_written_bytes */
	bool disk_cause;         /* etw_disk_caused_read_bytes_total, …_written_bytes_total */
	uint32_t top_path_count; /* places of that list; 0: 20 */
	uint32_t shares;         /* of the network that are volumes of their own; 0: none */
	uint32_t features;       /* set of enum tracker_feature; the others are not tracked */
	/* The source is a live session, which describes disks later than their first transfers. */
	bool live;
	uint64_t late_ms; /* how late it may deliver an event; 0: all come in time order */
	/* Another live session gets the kernel's FileIo requests. Otherwise they are known when
	 * they come; a first pass looks for them. */
	bool has_file_requests;
};

struct tracker *tracker_new(const struct tracker_options *options, struct etw_error *err);
void tracker_free(struct tracker *tracker);

/*
 * From the next record on, the tracker works for another configuration; event classes must be
 * prepared again, and the choice of tracker_choose_ahead() is another one. Of next, features, state
 * gauges, path groups and limits are taken; strings_bytes and what is borrowed stay. What the
 * tracker knows stays, except for tables that nothing needs any more. A feature that is new works
 * with what records announce from now on, and so do state gauges. False without memory: parts that
 * are new may be missing.
 */
bool tracker_change(struct tracker *tracker, const struct tracker_options *next,
		    struct etw_error *err);

/* Prepares the families of the state gauges that the options enable (registry_prepare()), and adds
 * them to a list with room for TRACKER_GAUGES more. */
enum { TRACKER_GAUGES = 8 };
bool tracker_prepare_gauges(struct registry *registry, const struct tracker_options *options,
			    struct family **families, size_t *count, struct etw_error *err);

/* Forgets everything (another pass of a recording begins); state gauges go back to 0, statistics go
 * on. */
void tracker_reset(struct tracker *tracker);

/* Resolves how events of a new class are attributed and what they announce; fills
 * class->attribution. False without memory. */
bool tracker_prepare(struct tracker *tracker, struct etw_event_class *class);
/* Frees class->attribution. */
void tracker_release(struct etw_event_class *class);

/*
 * What need not be shown to tracker_first_pass(), because it announces nothing there: the kernel
 * records that are not in *choice, other events whose ids are not among those that are added to
 * *ids, and records that tracker_skips_ahead() is true for.
 */
void tracker_choose_ahead(const struct tracker *tracker, struct etw_kernel_choice *choice);
void tracker_choose_ids_ahead(struct etw_id_choice *ids);
bool tracker_skips_ahead(const struct etw_record *record);

/* Whether requests of the kernel's FileIo are known to exist. Once they are, fewer records need be
 * shown: tracker_choose_ahead() chooses others. */
bool tracker_has_file_requests(const struct tracker *tracker);

/* Whether records of an event class name so many files that their layout must be known in the first
 * pass already, because too many of them would have to wait for its end. */
bool tracker_names_files(const struct etw_event_class *class);

/* The kernel records that any first pass may need, with every feature enabled: names and lifetimes.
 */
void tracker_choose_announcing(struct etw_kernel_choice *choice);

/*
 * Returns true when the record is to be shown once more before tracker_first_pass_end(), with an
 * event class whose schema is known by then from the recording.
 */
bool tracker_first_pass(struct tracker *tracker, const struct etw_record *record,
			const struct etw_event_class *class);
void tracker_first_pass_end(struct tracker *tracker);

/* Before the rules see the record. What the record says is remembered; derived fields of this
 * record can then be read. Returns whether tracker_count() has something to do for the record. */
bool tracker_observe(struct tracker *tracker, const struct etw_record *record,
		     const struct etw_event_class *class);

/*
 * Learns from a record of what exists, between two records that are observed: a file, a disk or a
 * service that a live session found (on_known in include/etw/source.h). No derived field can be
 * read of it. What observed records say of later times stays true.
 */
void tracker_learn(struct tracker *tracker, const struct etw_record *record,
		   const struct etw_event_class *class);

/* After tracker_observe() of a record that no filter takes out: counts its bytes, adds what it
 * writes to the list of the most written paths, and notes or counts who caused the transfers of
 * disks. */
void tracker_count(struct tracker *tracker);

/* No record follows before a tracker_reset(): shows what has not been shown yet. */
void tracker_end(struct tracker *tracker);

/*
 * What a live session found when it started, between two records: a process that was running, and a
 * thread and its process. It is used where no event announces the same; state gauges count only
 * what events announce. tracker_reset() forgets it.
 */
void tracker_name_process(struct tracker *tracker, uint32_t process_id, const char *name,
			  size_t size);
void tracker_own_thread(struct tracker *tracker, uint32_t thread_id, uint32_t process_id);

/*
 * What a live session finds on the machine, at its start and later, as the callbacks of struct
 * event_sink describe it (include/etw/source.h): the letter or mount folder of a device, disks,
 * partitions, services. Texts are UTF-8, and NULL where the sink has NULL. What a record says of a
 * disk or a partition stays until it is found changed. tracker_reset() forgets all of it.
 */
void tracker_map_volume(struct tracker *tracker, const char *nt_path, const char *dos_path);
void tracker_find_disk(struct tracker *tracker, uint32_t disk, const char *model,
		       uint32_t bytes_per_sector);
void tracker_find_partition(struct tracker *tracker, uint32_t disk, uint32_t partition,
			    const char *volume, const char *file_system);
void tracker_find_service(struct tracker *tracker, uint32_t process_id, uint32_t tag,
			  const char *name);

/* Which of them are used: a live session need not find the others. */
bool tracker_uses_volumes(const struct tracker *tracker);
bool tracker_uses_disks(const struct tracker *tracker);
bool tracker_uses_services(const struct tracker *tracker);

/* Reports to the registry which names of processes were alive until now, the time of the record
 * that comes next (registry_alive()). */
void tracker_report_alive(struct tracker *tracker, const struct etw_record *next);

/* How many of those processes no event has named yet. */
size_t tracker_unseen_processes(struct tracker *tracker);

/* ---- about the record last observed; what else rules read of it is in derived_fields.h ---- */

/* The process the record belongs to, by section 16.1: label id (`_none`, `_unknown` included).
 * *process_id, if not NULL: its id or ETW_RECORD_NO_ID. */
uint32_t tracker_process(struct tracker *tracker, uint32_t *process_id);
/* Its label id alone. */
uint32_t tracker_process_label(struct tracker *tracker);

/* An id for the running instance of the record's process, different after an exit and a start with
 * the same pid; 0: none known. For `set` gauges. */
uint64_t tracker_instance(struct tracker *tracker);

/* Whether the record came so late that its process has ended already: what it sets is over. */
bool tracker_outlived(struct tracker *tracker);

/*
 * The process id that the record ends: by the stop of a process, or by the start of another one
 * with its id, when the stop was lost. False for other records. *instance: the instance that ends,
 * 0 for none: only the kernel's own events end instances, those of Microsoft-Windows-Kernel-Process
 * report the same ends a moment apart.
 */
bool tracker_ended_process(struct tracker *tracker, uint32_t *process_id, uint64_t *instance);

/* ---- health; any thread ---- */
/* The last two are those of the rules, which the pipeline fills in. */
enum tracker_table {
	TABLE_PROCESS,
	TABLE_THREAD,
	TABLE_FILE,
	TABLE_IRP,
	TABLE_IMAGE,
	TABLE_DISK_CAUSE,
	TABLE_SHARE,
	TABLE_PAIR,
	TABLE_GAUGE,
	TABLE_COUNT
};
enum tracker_miss { MISS_THREAD, MISS_PROCESS, MISS_FILE, MISS_DISK, MISS_COUNT };

/* Bytes read from files and written to them, paging included, since the last tracker_reset(). */
enum tracker_file_bytes { FILE_BYTES_ALL, FILE_BYTES_WITH_VOLUME, FILE_BYTES_COUNT };

struct tracker_statistics {
	uint64_t entries[TABLE_COUNT];
	uint64_t evictions[TABLE_COUNT];
	uint64_t unattributed[MISS_COUNT]; /* events whose thread, process, file or disk no event
					      had named */
	uint64_t file_bytes[FILE_BYTES_COUNT]; /* counted with TRACK_FILES */
	/* Events of Microsoft-Windows-Kernel-File that rules left out, because the kernel's FileIo
	 * events report the same (AlsoKernel). */
	uint64_t repeated;
};

const char *tracker_table_name(enum tracker_table table); /* "process", "thread", "file", "irp",
							     "image", "disk_cause",
							     "share", "pair", "gauge" */
const char *tracker_miss_name(enum tracker_miss miss);    /* "thread", "process", "file", "disk" */
void tracker_statistics(const struct tracker *tracker, struct tracker_statistics *statistics);

#endif
