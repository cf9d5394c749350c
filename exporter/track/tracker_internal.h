/* SPDX-License-Identifier: MIT */
/*
 * The inside of a tracker, for attribution.c (what event classes announce), tracker.c (its parts
 * and its passes), change.c (another configuration), announce.c (from records into the tables),
 * record_owner.c (process and file of a record), count.c (what is counted without rules) and
 * derived_fields.c (what else rules read of it).
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
#include "exporter/track/processes.h"
#include "exporter/track/services.h"
#include "exporter/track/stack_owners.h"
#include "exporter/track/top_paths.h"
#include "exporter/track/tracker.h"

/* ---- attribution ---- */

/* What leads to the process of an event. The header of the record serves where the payload does
 * not have the id. */
enum owner {
	OWNER_HEADER,
	OWNER_PROCESS_ID,            /* PAYLOAD_OWNER is a process id */
	OWNER_THREAD_ID,             /* PAYLOAD_OWNER is a thread id */
	OWNER_THREAD_WITHOUT_HEADER, /* likewise, if the header has no process id */
	/* The header, and where it has no ids the thread that runs on the processor, if context
	 * switches are tracked. */
	OWNER_RUNNING,
};

/* What events of a class announce; bits. */
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
	ANNOUNCES_LATER = 1 << 14,      /* something, once its schema is known */
	ANNOUNCES_WRITE = 1 << 15,      /* bytes that a program writes to a file */
	ANNOUNCES_TAG = 1 << 16,        /* sub-process tag of a thread */
	ANNOUNCES_SERVICE = 1 << 17,    /* service behind a tag */
	ANNOUNCES_FILE_BYTES = 1 << 18, /* bytes read from a file or written to it */
	ANNOUNCES_FILE_USE = 1 << 19,   /* a request for a file, or its end, for disk_cause */
	ANNOUNCES_DISK_BYTES = 1 << 20, /* bytes that a disk has read or written */
	ANNOUNCES_VIEW = 1 << 21,       /* view of a file, or its end, for disk_cause */
	ANNOUNCES_ID_CHANGE = 1 << 22,  /* a process id begins or ends, likewise */
	ANNOUNCES_STACK = 1 << 23,      /* of which process an event is, in a first pass alone */

	/* What tracker_count() reads; no table takes it. */
	ANNOUNCES_COUNTED = ANNOUNCES_WRITE | ANNOUNCES_FILE_BYTES | ANNOUNCES_FILE_USE |
			    ANNOUNCES_DISK_BYTES | ANNOUNCES_VIEW | ANNOUNCES_ID_CHANGE,

	/* What tracker_observe() leaves alone. */
	ANNOUNCES_ELSEWHERE = ANNOUNCES_COUNTED | ANNOUNCES_STACK,

	ANNOUNCES_IN_FIRST_PASS = ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE | ANNOUNCES_LATER |
				  ANNOUNCES_THREAD | ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT |
				  ANNOUNCES_VOLUME | ANNOUNCES_IMAGE | ANNOUNCES_DISK |
				  ANNOUNCES_TAG | ANNOUNCES_SERVICE | ANNOUNCES_STACK
};

/* The fields of the payload that the tracker reads. */
enum payload_field {
	PAYLOAD_OWNER, /* what leads to the process; see enum owner */
	PAYLOAD_ABOUT, /* the id of the process that the event is about */
	/* Thread, StackWalk: the thread; CSwitch: the new one; ReadyThread: the ready one */
	PAYLOAD_THREAD,
	PAYLOAD_OLD_THREAD, /* CSwitch */
	PAYLOAD_FILE_KEY,
	PAYLOAD_FILE_OBJECT,
	PAYLOAD_IRP,
	PAYLOAD_TIME, /* StackWalk: of the event */
	/* Image: base; PerfInfo: Routine; FileIo/MapFile: of the view; calls of minifilters:
	   RoutineAddr */
	PAYLOAD_ADDRESS,
	PAYLOAD_SIZE,     /* Image; Read and Write of FileIo and DiskIo: bytes */
	PAYLOAD_OFFSET,   /* FileIo/Read and Write */
	PAYLOAD_CHECKSUM, /* Image */
	PAYLOAD_TAG,      /* Thread: of the thread; SystemConfig/Services: of the service */
	PAYLOAD_DISK,
	PAYLOAD_NUMBER, /* PhyDisk: bytes per sector; LogDisk: partition; Read and Write of FileIo
			   and DiskIo: flags; FileIo/MapFile: MiscInfo */
	/* The fields before are integers, the others are texts. */
	PAYLOAD_NAME,
	PAYLOAD_SECOND_NAME, /* VolumeMapping: the drive; LogDisk: the file system */
	PAYLOAD_FIELDS
};

/* Made by tracker_prepare(). */
struct attribution {
	const struct etw_schema *schema; /* of the event class; NULL: none, and no field is found */
	uint32_t announces;
	/* The opcode of a kernel event. An event of Microsoft-Windows-Kernel-File has the opcode of
	 * the FileIo event that says the same. */
	uint8_t opcode;
	bool second_source;          /* it is such an event */
	bool is_sample;              /* of a thread, which may be known by the sample's stack */
	enum lifetime_change change; /* of what it announces */
	enum owner owner;
	struct etw_field_reader integers[PAYLOAD_NAME];
	int16_t texts[PAYLOAD_FIELDS - PAYLOAD_NAME]; /* indices of fields; -1: none */
};

/* Of an event that announces nothing and has no field. */
extern const struct attribution no_attribution;

/* ---- the tracker ---- */

/* The process that an id led to, by record_owner.c. */
struct recent_owner {
	uint64_t key;     /* the id, and whether it is of a process or a thread; 0: none */
	uint64_t drops;   /* as in the tracker when it was found */
	int64_t from, to; /* the times at which it is this process */
	uint32_t process; /* label id */
	uint32_t process_id;
	uint32_t instance; /* number in processes */
};

enum {
	RECENT_OWNERS = 1024,
	/* Stacks of a first pass whose threads are not known, for each thread of the limit: 800,000
	 * in 32 MB at most, until the end of the pass. */
	STACKS_PER_THREAD = 4,
};

/* The record last observed: what was found out when it was observed or when it was first needed. */
struct tracker_record {
	const struct etw_record *record;
	const struct attribution *attribution; /* never NULL */

	bool process_known, file_known;
	bool learned;     /* by tracker_learn() */
	uint32_t process; /* label id */
	uint32_t process_id;
	uint32_t instance; /* number in processes; 0: none */

	uint32_t file;

	bool started; /* FileIo/OperationEnd: its start was found */
	uint8_t start_opcode;
	uint32_t start_process; /* label id */
	int64_t started_at;     /* raw */

	struct scheduler_switch switched; /* CSwitch */
};

struct tracker {
	struct tracker_options options;
	uint32_t enabled;        /* enum announcement: what the tracker collects */
	struct intern *texts;    /* owned: paths */
	struct etw_text scratch; /* owned: texts of the current record */
	struct etw_text second_scratch;
	uint32_t none; /* label id: `_none` */
	bool in_first_pass;
	/* The kernel's FileIo requests are events of this consumer, or of another one of this
	 * program: events of the second source report them once more. */
	bool has_file_requests;
	int64_t observed_time; /* raw, of the last record observed */

	struct names *own_names; /* owned; NULL: they are shared */
	struct processes processes;
	struct threads threads;
	struct stack_owners stack_owners; /* of threads that are not in threads */
	struct map announced_threads;     /* in a first pass */
	struct files files;
	struct drivers drivers;
	struct recent requests; /* IRP -> when, opcode, id of the process or thread */
	struct scheduler scheduler;
	struct services services;
	struct process_gauges gauges;
	struct disks disks;
	struct image_info image_info;
	struct top_paths top_paths;
	struct disk_cause disk_cause;

	struct tracker_record now;
	struct recent_owner recent_owners[RECENT_OWNERS];
	uint64_t drops; /* of the tables of processes and threads: tracker_note_drops() */
	uint32_t request_names[256]; /* label ids by opcode ("FileIo/Read"); INTERN_NONE: not yet */

	_Atomic(uint64_t) entries[TABLE_COUNT];
	_Atomic(uint64_t) evictions[TABLE_COUNT];
	_Atomic(uint64_t) unattributed[MISS_COUNT];
	_Atomic(uint64_t) file_bytes[FILE_BYTES_COUNT];
	_Atomic(uint64_t) repeated;
};

/* Read a field of the current record. False, and *value left alone: it does not have the field. */
static inline bool etw_payload_u64(const struct tracker *tracker, enum payload_field field,
				   uint64_t *value)
{
	const struct attribution *attribution = tracker->now.attribution;

	return etw_field_read_u64(&attribution->integers[field], attribution->schema,
				  tracker->now.record, value);
}

static inline bool etw_payload_u32(const struct tracker *tracker, enum payload_field field,
				   uint32_t *value)
{
	const struct attribution *attribution = tracker->now.attribution;

	return etw_field_read_u32(&attribution->integers[field], attribution->schema,
				  tracker->now.record, value);
}

/* Adds to a number that only the consumer writes. */
static inline void tracker_add(_Atomic(uint64_t) *number, uint64_t value)
{
	atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + value,
			      memory_order_relaxed);
}

/* Whether the current record reports what an event of the kernel's FileIo reports too. */
static inline bool tracker_is_repeated(const struct tracker *tracker)
{
	return tracker->now.attribution->second_source && tracker->has_file_requests;
}

static inline void tracker_miss(struct tracker *tracker, enum tracker_miss reason)
{
	tracker_add(&tracker->unattributed[reason], 1);
}

/* ---- tracker.c, for change.c and count.c ---- */

/* Replaces limits of 0 by the defaults of tracker.h. */
void tracker_set_defaults(struct tracker_options *options);
/* What a tracker with these options collects: a set of enum announcement. */
uint32_t tracker_enabled_by(const struct tracker_options *options);
/* There is no current record. */
void tracker_forget_record(struct tracker *tracker);
void tracker_publish_all(struct tracker *tracker);
void tracker_publish_disk_cause(struct tracker *tracker);
void tracker_publish_shares(struct tracker *tracker);

/* ---- count.c ---- */

/* Makes the ledger of disk_cause for the options, empty. */
bool tracker_make_disk_cause(struct tracker *tracker, struct etw_error *err);

/* ---- announce.c and record_owner.c ---- */

/* Hands what the current record announces, of the given announcements, to the tables. */
void tracker_announce(struct tracker *tracker, uint32_t announces);
/* The same for ANNOUNCES_STACK. */
void tracker_announce_stack(struct tracker *tracker);

/* The tables of processes and threads may have dropped instances: what was kept of them is void. */
void tracker_note_drops(struct tracker *tracker);
/* A process or thread was announced: what its id led to before is void. */
void tracker_process_changed(struct tracker *tracker, uint32_t process_id);
void tracker_thread_changed(struct tracker *tracker, uint32_t thread_id);

/* Whether the process that an id meant at the time of the current record has ended since: the
 * record came late, or is the end. Known of live sessions only. */
bool tracker_has_gone(struct tracker *tracker, uint32_t process_id);

/* The label of a process id at the time of the current record; `_unknown`: it has no name. */
uint32_t tracker_label(struct tracker *tracker, uint32_t process_id);

/* The file of the current record: by its key, or else by its object; FILE_UNKNOWN if no path is
 * known. tracker_file() keeps it for the record, and counts one that is not known. */
uint32_t tracker_find_file(struct tracker *tracker);
uint32_t tracker_file(struct tracker *tracker);

/* The label of the path group of that file, as files_group() returns it. */
uint32_t tracker_path_group(struct tracker *tracker);

#endif
