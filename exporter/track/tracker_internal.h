/* SPDX-License-Identifier: MIT */
/*
 * The inside of a tracker, shared by attribution.c (what event classes announce), tracker.c (its
 * parts and its passes), change.c (another configuration), announce.c (writes what records announce
 * into the tables), record_owner.c (process and file of a record), count.c (what is counted without
 * rules) and derived_fields.c (what else rules read).
 *
 * Source: docs/etl-format.md sections 16.1 to 16.3.
 */
#ifndef TRACK_TRACKER_INTERNAL_H
#define TRACK_TRACKER_INTERNAL_H

#include <stdatomic.h>

#include <etw/kernel.h>
#include <etw/schema.h>

#include "base/intern.h"
#include "base/text.h"
#include "exporter/track/disk_cause.h"
#include "exporter/track/disks.h"
#include "exporter/track/drivers.h"
#include "exporter/track/durations.h"
#include "exporter/track/files.h"
#include "exporter/track/process_gauges.h"
#include "exporter/track/process_memory.h"
#include "exporter/track/processes.h"
#include "exporter/track/top_paths.h"
#include "exporter/track/tracker.h"

/* ---- attribution ---- */

/* Where the process of an event is found. If the payload lacks the id, the header is used. */
enum owner {
	OWNER_HEADER,
	OWNER_PROCESS_ID,            /* PAYLOAD_OWNER is a process id */
	OWNER_THREAD_ID,             /* PAYLOAD_OWNER is a thread id */
	OWNER_THREAD_WITHOUT_HEADER, /* PAYLOAD_OWNER is a thread id, used if the header has no
					process id */
	/* The header; if it has no ids, the thread that runs on the processor, if context
	 * switches are tracked. */
	OWNER_RUNNING,
};

/* What events of a class announce to the tables of the tracker; bits. */
enum announcement {
	ANNOUNCES_PROCESS = 1 << 0,
	ANNOUNCES_THREAD = 1 << 1,
	ANNOUNCES_FILE_KEY = 1 << 2,
	ANNOUNCES_FILE_OBJECT = 1 << 3,
	ANNOUNCES_VOLUME = 1 << 4,
	ANNOUNCES_REQUEST = 1 << 5,
	ANNOUNCES_REQUEST_END = 1 << 6,
	ANNOUNCES_IMAGE = 1 << 7,
	ANNOUNCES_SWITCH = 1 << 8,
	ANNOUNCES_READY = 1 << 9,
	ANNOUNCES_DISK = 1 << 10,
	ANNOUNCES_PARTITION = 1 << 11,
	ANNOUNCES_TRANSFER = 1 << 12,
	ANNOUNCES_PROCESS_IMAGE = 1 << 13,
	ANNOUNCES_LATER = 1 << 14,      /* something that is only known with the schema */
	ANNOUNCES_WRITE = 1 << 15,      /* bytes that a program writes to a file */
	ANNOUNCES_TAG = 1 << 16,        /* sub-process tag of a thread */
	ANNOUNCES_SERVICE = 1 << 17,    /* the service that a tag means */
	ANNOUNCES_FILE_BYTES = 1 << 18, /* bytes read from a file or written to it */
	ANNOUNCES_FILE_USE = 1 << 19,   /* a request for a file, or its end; for disk_cause */
	ANNOUNCES_DISK_BYTES = 1 << 20, /* bytes that a disk has read or written */
	ANNOUNCES_VIEW = 1 << 21,       /* a view of a file, or its end; for disk_cause */
	ANNOUNCES_ID_CHANGE = 1 << 22,  /* a process id begins or ends; for disk_cause */
	ANNOUNCES_STACK = 1 << 23,      /* the process of an event; in a first pass only */
	ANNOUNCES_MEMORY = 1 << 24,     /* the memory of all processes */

	/* Read by tracker_count(); no table receives these. */
	ANNOUNCES_COUNTED = ANNOUNCES_WRITE | ANNOUNCES_FILE_BYTES | ANNOUNCES_FILE_USE |
			    ANNOUNCES_DISK_BYTES | ANNOUNCES_VIEW | ANNOUNCES_ID_CHANGE,

	/* tracker_observe() ignores these. */
	ANNOUNCES_ELSEWHERE = ANNOUNCES_COUNTED | ANNOUNCES_STACK,

	ANNOUNCES_IN_FIRST_PASS = ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE | ANNOUNCES_LATER |
				  ANNOUNCES_THREAD | ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT |
				  ANNOUNCES_VOLUME | ANNOUNCES_IMAGE | ANNOUNCES_DISK |
				  ANNOUNCES_TAG | ANNOUNCES_SERVICE | ANNOUNCES_STACK
};

/* The fields of the payload that the tracker reads. */
enum payload_field {
	PAYLOAD_OWNER,            /* its value leads to the process; see enum owner */
	PAYLOAD_ABOUT,            /* id of the process that the event is about */
	PAYLOAD_PARENT,           /* Process: id of its parent */
	PAYLOAD_TERMINAL_SESSION, /* Process */
	/* Thread, StackWalk: the thread; CSwitch: the new one; ReadyThread: the ready one */
	PAYLOAD_THREAD,
	PAYLOAD_OLD_THREAD, /* CSwitch */
	PAYLOAD_FILE_KEY,
	PAYLOAD_FILE_OBJECT,
	PAYLOAD_IRP,
	PAYLOAD_TIME, /* StackWalk: the time of the event that has the stack */
	/* Image: the base; PerfInfo: Routine; FileIo/MapFile: the address of the view; calls of
	 * minifilters: RoutineAddr */
	PAYLOAD_ADDRESS,
	PAYLOAD_SIZE,     /* Image; Read and Write of FileIo and DiskIo: bytes */
	PAYLOAD_OFFSET,   /* FileIo/Read and Write */
	PAYLOAD_CHECKSUM, /* Image */
	PAYLOAD_TAG,      /* Thread: of the thread; SystemConfig/Services: of the service */
	PAYLOAD_DISK,
	PAYLOAD_NUMBER, /* PhyDisk: bytes per sector; LogDisk: partition; Read and Write of FileIo
			   and DiskIo: flags; FileIo/MapFile: MiscInfo */
	/* The fields above are integers; those below are texts. */
	PAYLOAD_NAME,
	PAYLOAD_SECOND_NAME, /* Process: the command line; VolumeMapping: the drive; LogDisk: the
				file system */
	PAYLOAD_ACCOUNT,     /* Process: the SID of its account */
	PAYLOAD_FIELDS
};

/* How events of one class are attributed. tracker_prepare() makes it; tracker_release() frees
 * it. */
struct attribution {
	const struct etw_schema
		*schema; /* of the event class; NULL: none, and no field can be read */
	uint32_t announces;
	/* The opcode of a kernel event. An event of Microsoft-Windows-Kernel-File has the opcode
	 * of the FileIo event that reports the same. */
	uint8_t opcode;
	uint8_t repeats; /* of an event of a second source: the enum kernel_subject whose events
			    report the same; 0: none do */
	bool is_sample;  /* a sample of a thread, whose process may be known only from the sample's
			    stack */
	enum lifetime_change change; /* the change that it announces */
	enum owner owner;
	/* What the id in PAYLOAD_OWNER means, regardless of the header: OF_PROCESS or OF_THREAD; 0 if
	 * the header comes first or there is no such id. */
	uint64_t payload_owner;
	uint16_t payload_owner_offset; /* where the id is */
	uint32_t payload_owner_end;    /* payload bytes that are needed; UINT32_MAX: it has no
					  constant offset or not 4 bytes */
	struct etw_field_reader integers[PAYLOAD_NAME];
	int16_t texts[PAYLOAD_FIELDS - PAYLOAD_NAME]; /* indices of fields; -1: none */
};

/* For an event that announces nothing and has no field that the tracker reads. */
extern const struct attribution no_attribution;

/* ---- the tracker ---- */

/* Beside the id in the key of a recent owner. */
#define OF_PROCESS (UINT64_C(1) << 32)
#define OF_THREAD  (UINT64_C(2) << 32)

/* A cache entry of record_owner.c: the process that an id led to. */
struct recent_owner {
	uint64_t key; /* the id, and whether it is that of a process or a thread; 0: a free entry */
	uint64_t drops;   /* the tracker's drops when the process was found */
	int64_t from, to; /* raw times, both included, at which the id means this process */
	uint32_t process; /* label id */
	uint32_t process_id;
	uint32_t instance; /* number of the instance in processes */
};

enum {
	RECENT_OWNERS = 1024,
	/* The most stacks for each thread of the limit. A first pass keeps those of unknown
	 * threads until its end: at most 800,000 in 32 MB. */
	STACKS_PER_THREAD = 4,
	ANNOUNCED_THREADS = 8192,
};

/* The record last observed, with what was found when it was observed or when it was first
 * needed. */
struct tracker_record {
	const struct etw_record *record;
	const struct attribution *attribution; /* never NULL */

	bool process_known, file_known;
	bool learned;     /* it came by tracker_learn() */
	uint32_t process; /* label id */
	uint32_t process_id;
	uint32_t instance; /* number in processes; 0: none */

	uint32_t file;

	bool started; /* the start of the request was found: see tracker_ends_request() */
	uint8_t start_opcode;
	uint32_t start_process;                     /* label id */
	int64_t started_at;                         /* raw time of the start */
	uint64_t start_file_key, start_file_object; /* 0: the start has none */

	struct scheduler_switch switched; /* CSwitch */
};

struct tracker {
	struct tracker_options options;
	uint32_t enabled; /* set of enum announcement that the tracker collects */
	/* The kernel records that announce any of the set announcing_of; costly to find. */
	struct etw_kernel_choice announcing;
	uint32_t announcing_of;
	struct intern *texts;    /* owned: paths */
	struct etw_text scratch; /* owned: text of the current record */
	struct etw_text second_scratch, third_scratch;
	uint32_t none; /* label id: `_none` */
	bool in_first_pass;
	/* Set of enum kernel_subject: what the kernel reports to this consumer, or to another one
	 * of this program, so that events of second sources repeat it. */
	uint32_t kernel_subjects;
	int64_t observed_time; /* raw time of the latest record observed */

	struct account_lookup *account_lookup; /* owned; NULL: none */
	struct names *own_names; /* owned; NULL: the names are shared with other trackers */
	struct processes processes;
	struct threads threads;
	struct stack_owners stack_owners; /* for threads that are not in threads */
	/* Threads that this first pass has announced; an id may replace another one. */
	uint32_t announced_threads[ANNOUNCED_THREADS];
	struct files files;
	struct drivers drivers;
	struct recent requests; /* IRP -> time, opcode, and id of the process or thread */
	struct scheduler scheduler;
	struct services services;
	struct process_gauges gauges;
	struct process_memory memory;
	struct disks disks;
	struct info_metric image_info;
	struct info_metric process_info;
	struct top_paths top_paths;
	struct disk_cause disk_cause;

	struct tracker_record now;
	struct recent_owner recent_owners[RECENT_OWNERS];
	uint64_t drops;              /* rises when tables of processes and threads drop instances:
					tracker_note_drops() */
	uint32_t request_names[256]; /* label ids by opcode ("FileIo/Read"); INTERN_NONE: not made
					yet */

	/* Statistics: the consumer writes them, any thread may read them. */
	_Atomic(uint64_t) entries[TABLE_COUNT];
	_Atomic(uint64_t) evictions[TABLE_COUNT];
	_Atomic(uint64_t) unattributed[MISS_COUNT];
	_Atomic(uint64_t) file_bytes[FILE_BYTES_COUNT];
	_Atomic(uint64_t) repeated;
};

/* Reads a field of the current record. Returns false, and leaves *value unchanged, if the record
 * does not have the field. */
static inline bool payload_u64(const struct tracker *tracker, enum payload_field field,
			       uint64_t *value)
{
	const struct attribution *attribution = tracker->now.attribution;

	return etw_field_read_u64(&attribution->integers[field], attribution->schema,
				  tracker->now.record, value);
}

static inline bool payload_u32(const struct tracker *tracker, enum payload_field field,
			       uint32_t *value)
{
	const struct attribution *attribution = tracker->now.attribution;

	return etw_field_read_u32(&attribution->integers[field], attribution->schema,
				  tracker->now.record, value);
}

/* Adds to a number that only the consumer's thread writes; other threads may read it. */
static inline void tracker_add(_Atomic(uint64_t) *number, uint64_t value)
{
	atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + value,
			      memory_order_relaxed);
}

/* Returns whether the current record reports what an event of the kernel reports too. */
static inline bool tracker_is_repeated(const struct tracker *tracker)
{
	return (tracker->now.attribution->repeats & tracker->kernel_subjects) != 0;
}

/* Returns whether Microsoft-Windows-Kernel-Process sets the gauges of processes. */
static inline bool tracker_counts_images(const struct tracker *tracker)
{
	return tracker->options.processes_of_provider &&
	       (tracker->kernel_subjects & SUBJECT_PROCESSES) == 0;
}

/* Counts an event whose thread, process, file or disk no event has named. */
static inline void tracker_miss(struct tracker *tracker, enum tracker_miss reason)
{
	tracker_add(&tracker->unattributed[reason], 1);
}

/* ---- tracker.c, for change.c and count.c ---- */

/* Replaces limits of 0 by the defaults of tracker.h. */
void tracker_set_defaults(struct tracker_options *options);
/* Returns the set of enum announcement that a tracker with these options collects. */
uint32_t tracker_enabled_by(const struct tracker_options *options);
/* Forgets the current record, which may no longer be valid. */
void tracker_forget_record(struct tracker *tracker);
/* Makes an empty ledger of disk causes, with families if the options enable them. */
bool tracker_make_disk_cause(struct tracker *tracker, struct etw_error *err);
void tracker_publish_all(struct tracker *tracker);
void tracker_publish_disk_cause(struct tracker *tracker);
void tracker_publish_shares(struct tracker *tracker);

/* ---- announce.c and record_owner.c ---- */

/* Passes what the current record announces to the tables, limited to the set `announces`. */
void tracker_announce(struct tracker *tracker, uint32_t announces);
/* Sets the labels of a process in etw_process_info. context: the tracker. Returns false if the
 * process is not known at the time of the current record. */
bool tracker_info_labels(void *context, uint32_t process_id, uint32_t *ids);
/* Passes the process of a StackWalk record to stack_owners. */
void tracker_announce_stack(struct tracker *tracker);

/* Call it when tables of processes or threads may have dropped instances: owners that were cached
 * before a drop become void. */
void tracker_note_drops(struct tracker *tracker);
/* A process or thread was announced: removes its id from the cache of owners. */
void tracker_process_changed(struct tracker *tracker, uint32_t process_id);
void tracker_thread_changed(struct tracker *tracker, uint32_t thread_id);

/* Returns whether the process that an id meant at the time of the current record has ended since,
 * because the record came late or is its stop. Always false after a first pass. */
bool tracker_has_gone(struct tracker *tracker, uint32_t process_id);

/* Returns the label id of a process id at the time of the current record; `_unknown` if it has
 * no name. */
uint32_t tracker_label(struct tracker *tracker, uint32_t process_id);

/* Returns whether the current record ends a request whose start was seen. What `now` has of a start
 * is left from an earlier record otherwise. */
static inline bool tracker_ends_request(const struct tracker *tracker)
{
	return (tracker->now.attribution->announces & ANNOUNCES_REQUEST_END) &&
	       tracker->now.started;
}

/* Return the number of the current record's file: by its key, otherwise by its object;
 * FILE_UNKNOWN if no path is known. tracker_file() caches it for the record, and counts a miss
 * if it is unknown. */
uint32_t tracker_find_file(struct tracker *tracker);
uint32_t tracker_file(struct tracker *tracker);

#endif
