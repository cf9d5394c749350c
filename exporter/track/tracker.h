/* SPDX-License-Identifier: MIT */
/*
 * Remembers what earlier events announced, and finds from it which process, file, disk or driver an
 * event is about.
 *
 * The tables (processes, threads, files, volumes, drivers, requests under way, the scheduler)
 * belong to one consumer and have no lock; other threads may call only tracker_statistics(). Every
 * table is bounded and counts what it evicts.
 *
 * A recording is read twice. tracker_first_pass() collects lifetimes in file order;
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

struct etw_kernel_choice; /* include/etw/kernel.h */
struct names;             /* exporter/track/names.h */
struct process_names;     /* exporter/track/names.h */
struct tracker;           /* opaque */

/* Facts that are tracked only for derived fields that need them; bits. */
enum tracker_feature {
	TRACK_FILES = 1 << 0,     /* paths, volumes, path groups */
	TRACK_REQUESTS = 1 << 1,  /* I/O requests from their start to their end */
	TRACK_DRIVERS = 1 << 2,   /* images of drivers by address */
	TRACK_SCHEDULER = 1 << 3, /* context switches */
	TRACK_SERVICES = 1 << 4,  /* services of the threads of svchost */
	TRACK_SOURCES = 1 << 5,   /* which subjects the kernel reports in this source */
	TRACK_OWNERS = 1 << 6,    /* accounts that processes run as */
};

/*
 * What the kernel reports and a provider with a manifest reports too; bits. Such a provider is the
 * second source of the subject: its events repeat those of the kernel where a source has both.
 */
enum kernel_subject {
	SUBJECT_FILES = 1 << 0,     /* requests of FileIo; Microsoft-Windows-Kernel-File */
	SUBJECT_NETWORK = 1 << 1,   /* TcpIp, UdpIp; Microsoft-Windows-Kernel-Network */
	SUBJECT_PROCESSES = 1 << 2, /* Process; Microsoft-Windows-Kernel-Process */
	SUBJECT_THREADS = 1 << 3,   /* Thread, starts and ends; Microsoft-Windows-Kernel-Process */
	SUBJECT_REGISTRY = 1 << 4,  /* Registry; Microsoft-Windows-Kernel-Registry */
	SUBJECT_DISKS = 1 << 5,     /* DiskIo; Microsoft-Windows-Kernel-Disk */
};

/* Returns the kernel flags (ETW_KERNEL_FLAG_*) that a live session needs for a set of features. */
uint32_t tracker_kernel_flags(uint32_t features);

struct tracker_options {
	struct registry
		*registry;   /* names are interned and state gauges registered here; borrowed */
	struct shard *shard; /* the consumer's; borrowed */
	const struct etw_source_clock *clock; /* the source's; borrowed */
	uint32_t processes;                   /* limits of instances; 0: 20000, 200000, 200000 */
	uint32_t threads;
	uint32_t files;
	size_t strings_bytes; /* budget of path text; 0: 64 MiB */
	/* The spelling of process names, shared where several passes or recordings count into
	 * the same series; NULL: the tracker makes its own. */
	struct names *names;
	bool lower_case; /* spelling of its own names, as process_case: lower */
	/* The rules that name processes, borrowed until the next tracker_change(); NULL: none. */
	const struct process_names *process_names;
	uint32_t process_names_most; /* the most names that they give */
	/* Returns the name of an account by its SID, allocated, for a live session; NULL: only
	 * well-known accounts have names (exporter/track/identities.h). */
	char *(*find_account)(const char *sid);
	const struct config_path_group *path_groups; /* groups of the PathGroup field; copied */
	size_t path_group_count;
	/* Whether the state gauges of a collector are enabled (docs/metrics.md). The tracker
	 * registers only the families of enabled ones. */
	bool process_gauges; /* etw_process_instances, etw_process_threads */
	bool disk_info;      /* etw_disk_info, etw_disk_volume_info */
	bool image_info;     /* etw_process_image_info */
	bool process_info;   /* etw_process_info */
	/* Microsoft-Windows-Kernel-Process sets the gauges of processes where the kernel's events
	 * do not: in one of several live sessions, because all of them have its events. */
	bool processes_of_provider;
	bool top_paths;          /* etw_file_top_written_bytes */
	bool process_memory;     /* etw_process_working_set_bytes and its like */
	bool disk_cause;         /* etw_disk_caused_read_bytes_total, …_written_bytes_total */
	uint32_t top_path_count; /* length of the list of top_paths; 0: 20 */
	uint32_t shares;   /* the most network shares that are volumes of their own; 0: none */
	uint32_t features; /* set of enum tracker_feature; other features are not tracked */
	/* The source is a live session, which describes disks after their first transfers. */
	bool live;
	uint64_t late_ms; /* the most that the source may deliver an event late; 0: all come in time
			     order */
	/* Of a live session: set of enum kernel_subject, what the kernel reports to one of the
	 * sessions. Of a recording the tracker notices it by the first event, or in the first
	 * pass. */
	uint32_t kernel_subjects;
	/* The live session is that of another program, which decides about its events: the first
	 * event of the kernel adds its subject to kernel_subjects, as in a recording. */
	bool attached;
};

struct tracker *tracker_new(const struct tracker_options *options, struct etw_error *err);
void tracker_free(struct tracker *tracker);

/*
 * Changes the configuration from the next record on. Event classes must be prepared again, and
 * tracker_choose_ahead() must be called again. It takes features, state gauges, path groups and
 * limits from `next`; strings_bytes and borrowed members stay. The tracker keeps what it knows,
 * except for tables that nothing needs any more. New features and state gauges begin with what
 * records announce from now on. Returns false without memory: new parts may then be missing.
 */
bool tracker_change(struct tracker *tracker, const struct tracker_options *next,
		    struct etw_error *err);

/* Prepares the families of the state gauges that the options enable (registry_prepare()) and
 * appends them to `families`, which must have room for TRACKER_GAUGES more. */
enum { TRACKER_GAUGES = 13 };
bool tracker_prepare_gauges(struct registry *registry, const struct tracker_options *options,
			    struct family **families, size_t *count, struct etw_error *err);

/* Forgets everything, before another pass of a recording; state gauges go back to 0, statistics
 * continue. */
void tracker_reset(struct tracker *tracker);

/* Resolves how events of a new class are attributed and what they announce; stores it in
 * class->attribution. Returns false without memory. */
bool tracker_prepare(struct tracker *tracker, struct etw_event_class *class);
/* Frees class->attribution. */
void tracker_release(struct etw_event_class *class);

/*
 * These choose the records that tracker_first_pass() needs. A caller may leave out the others,
 * because they announce nothing there: kernel records that are not in *choice, other events whose
 * ids are not among those added to *ids, and records for which tracker_skips_ahead() returns true.
 */
void tracker_choose_ahead(struct tracker *tracker, struct etw_kernel_choice *choice);
void tracker_choose_ids_ahead(struct etw_id_choice *ids);
bool tracker_skips_ahead(const struct etw_record *record);

/* Returns the set of enum kernel_subject that the source is known to have. When it grows,
 * tracker_choose_ahead() chooses fewer records. */
uint32_t tracker_kernel_subjects(const struct tracker *tracker);

/* Returns whether records of an event class name so many files that the first pass must know their
 * layout at once: too many of them would have to wait for its end. */
bool tracker_names_files(const struct etw_event_class *class);

/* Chooses the kernel records that a first pass needs with every feature enabled: names and
 * lifetimes. */
void tracker_choose_announcing(struct etw_kernel_choice *choice);

/*
 * Returns true if the caller must pass the record again before tracker_first_pass_end(), with an
 * event class whose schema the recording has given by then.
 */
bool tracker_first_pass(struct tracker *tracker, const struct etw_record *record,
			const struct etw_event_class *class);
void tracker_first_pass_end(struct tracker *tracker);

/* Remembers what the record says. Call it before the rules see the record; afterwards derived
 * fields of this record can be read. Returns whether tracker_count() must be called for the
 * record. */
bool tracker_observe(struct tracker *tracker, const struct etw_record *record,
		     const struct etw_event_class *class);

/*
 * Learns what exists from a record that a live session's harvest found (on_known in
 * include/etw/source.h): a file, a disk or a service. Call it between two records that are
 * observed. Derived fields of this record cannot be read. It does not change what observed records
 * say about later times.
 */
void tracker_learn(struct tracker *tracker, const struct etw_record *record,
		   const struct etw_event_class *class);

/* Counts the bytes of the record, adds what it writes to the list of the most written paths, and
 * notes or counts who caused the transfers of disks. Call it after tracker_observe() of a record
 * that no filter drops. */
void tracker_count(struct tracker *tracker);

/* Shows the list of the most written paths up to now. Call it when no record follows before a
 * tracker_reset(). */
void tracker_end(struct tracker *tracker);

/*
 * Adds what a live session found running when it started: a process, and a thread with its process.
 * Call them between two records. They are used where no event announces the same; state gauges
 * count only what events announce. tracker_reset() forgets them.
 */
void tracker_name_process(struct tracker *tracker, uint32_t process_id, const char *name,
			  size_t size);
void tracker_own_thread(struct tracker *tracker, uint32_t thread_id, uint32_t process_id);

/*
 * Add what a live session finds on the machine, at its start and later: the drive letter or mount
 * folder of a device, disks, partitions, services. The parameters are those of the callbacks of
 * struct etw_event_sink (include/etw/source.h). Texts are UTF-8, and NULL where the sink has NULL.
 * What a record says about a disk or a partition stays until it is found again. tracker_reset()
 * forgets all of it.
 */
void tracker_map_volume(struct tracker *tracker, const char *nt_path, const char *dos_path);
void tracker_find_disk(struct tracker *tracker, uint32_t disk, const char *model,
		       uint32_t bytes_per_sector);
void tracker_find_partition(struct tracker *tracker, uint32_t disk, uint32_t partition,
			    const char *volume, const char *file_system);
void tracker_find_service(struct tracker *tracker, uint32_t process_id, uint32_t tag,
			  const char *name);

/* Sets the gauges of process memory from the list of all processes, which a live session reads. The
 * list is borrowed during the call. */
void tracker_read_memory(struct tracker *tracker, const struct etw_process_memory *list,
			 size_t count);

/* Returns whether the tracker uses these facts; otherwise a live session need not find them. */
bool tracker_uses_volumes(const struct tracker *tracker);
bool tracker_uses_disks(const struct tracker *tracker);
bool tracker_uses_services(const struct tracker *tracker);
bool tracker_uses_memory(const struct tracker *tracker);

/* Calls visit for each process that an event has named, in no particular order: with its id, and
 * the label ids of its name and of its program's name. */
void tracker_each_process(const struct tracker *tracker,
			  void (*visit)(void *context, uint32_t process_id, uint32_t name,
					uint32_t image),
			  void *context);

/* Reports to the registry which names of processes were alive until now (registry_alive()).
 * next: the record that comes next; its time is now. */
void tracker_report_alive(struct tracker *tracker, const struct etw_record *next);

/* The number of processes from tracker_name_process() that no event has named yet. */
size_t tracker_unseen_processes(struct tracker *tracker);

/* ---- about the record last observed; derived_fields.h has what else rules read ---- */

/* Returns the label id of the process that the record belongs to (docs/etl-format.md section
 * 16.1); it may be `_none` or `_unknown`. Sets *process_id, if not NULL, to its id or
 * ETW_RECORD_NO_ID. */
uint32_t tracker_process(struct tracker *tracker, uint32_t *process_id);
/* Returns only the label id of that process. */
uint32_t tracker_process_label(struct tracker *tracker);

/* Returns an id for the running instance of the record's process; it changes when another
 * process starts with the same process id. 0: none is known. For `set` gauges. */
uint64_t tracker_instance(struct tracker *tracker);

/* Returns whether the record came so late that its process has ended already: gauges must ignore
 * its values. */
bool tracker_outlived(struct tracker *tracker);

/*
 * Returns whether the record ends a process: by its stop, or by the start of another process with
 * its id if the stop was lost. Sets *process_id, and *instance to the instance that ends. *instance
 * is 0 for events of Microsoft-Windows-Kernel-Process: they report the same ends as the kernel's
 * own events, a moment apart, and end no instance.
 */
bool tracker_ended_process(struct tracker *tracker, uint32_t *process_id, uint64_t *instance);

/* ---- health: any thread may call these ---- */

/* The tables whose entries and evictions health shows. The pipeline fills in the last two, which
 * belong to the rule engine. */
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

/* Bytes read from files and written to them since the last tracker_reset(), paging included. */
enum tracker_file_bytes { FILE_BYTES_ALL, FILE_BYTES_WITH_VOLUME, FILE_BYTES_COUNT };

struct tracker_statistics {
	uint64_t entries[TABLE_COUNT];
	uint64_t evictions[TABLE_COUNT];
	uint64_t unattributed[MISS_COUNT]; /* events whose thread, process, file or disk no event
					      had named */
	uint64_t file_bytes[FILE_BYTES_COUNT]; /* counted with TRACK_FILES */
	/* Events of second sources that rules left out, because the kernel's events report the
	 * same (AlsoKernel). */
	uint64_t repeated;
};

const char *tracker_table_name(
	enum tracker_table table); /* returns "process", "thread", "file", "irp", "image",
				      "disk_cause", "share", "pair" or "gauge" */
const char *
tracker_miss_name(enum tracker_miss miss); /* returns "thread", "process", "file" or "disk" */
void tracker_statistics(const struct tracker *tracker, struct tracker_statistics *statistics);

/* ---- state gauges ---- */

/*
 * The state gauges: families that trackers set without rules, if their collector is on
 * (docs/rules.md, "State gauges").
 */

struct state_gauge {
	const char *family;
	const char *collector;
	const char *events;  /* the events that set it, for a list of metrics */
	bool without_kernel; /* providers also set it when no session has kernel events */
};

/* All state gauges; the row after the last one has no family. */
extern const struct state_gauge state_gauges[];

/* Returns whether the collector has a state gauge that is set without kernel events. */
bool state_gauges_without_kernel(const char *collector);

/* Returns whether a state gauge of the collector has a series. */
bool state_gauges_have_series(struct registry *registry, const char *collector);

#endif
