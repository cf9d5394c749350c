/* SPDX-License-Identifier: MIT */
/*
 * The attribution of an event class: which process its events belong to, what they announce to the
 * tracker, and where these values are in the payload. It is resolved once for each event class, so
 * that each event only costs a few loads.
 *
 * Source: docs/etl-format.md sections 16.1 to 16.3.
 */
#ifndef TRACK_ATTRIBUTION_H
#define TRACK_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/event_table.h"
#include "decode/field_reader.h"
#include "source/kernel_group.h"
#include "track/lifetimes.h"

/* The field that determines the process of an event, before the process id in the header. */
enum owner {
	OWNER_HEADER,
	OWNER_PROCESS_ID,       /* `owner` is a process id */
	OWNER_THREAD_ID,        /* `owner` is a thread id */
	OWNER_THREAD_IF_NEEDED, /* the same, if the header has no process id */
};

/* What the events of a class announce; bits. */
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
	ANNOUNCES_WRITE = 1 << 15,   /* bytes that a program writes to a file */
	ANNOUNCES_TAG = 1 << 16,     /* sub-process tag of a thread */
	ANNOUNCES_SERVICE = 1 << 17, /* service of a tag */
	ANNOUNCES_LATER = 1 << 14,   /* something else, when the schema is known */

	/* What the first pass collects. */
	ANNOUNCES_IN_FIRST_PASS = ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE | ANNOUNCES_LATER |
				  ANNOUNCES_THREAD | ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT |
				  ANNOUNCES_VOLUME | ANNOUNCES_IMAGE | ANNOUNCES_DISK |
				  ANNOUNCES_TAG | ANNOUNCES_SERVICE
};

struct attribution {
	const struct schema *schema; /* of the event class; NULL: none, and every reader is empty */
	uint32_t announces;
	uint8_t change; /* enum lifetime_change, of the announcement */
	uint8_t owner;  /* enum owner */
	struct field_reader owner_id;
	struct field_reader about;  /* the process that the event is about */
	struct field_reader thread; /* Thread: the thread; CSwitch: the new one; ReadyThread: the
				 one that is ready */
	struct field_reader old_thread; /* CSwitch */
	struct field_reader file_key;
	struct field_reader file_object;
	struct field_reader irp;
	struct field_reader address;  /* Image: base; PerfInfo: Routine */
	struct field_reader size;     /* Image; FileIo/Write: bytes */
	struct field_reader checksum; /* Image */
	struct field_reader tag; /* Thread: of the thread; SystemConfig/Services: of the service */
	struct field_reader disk;
	struct field_reader number; /* PhyDisk: bytes per sector; LogDisk: partition; FileIo/Write:
				 flags */
	int16_t name;               /* index of the field with the name; -1: none */
	int16_t name_too;           /* DosPath, FileSystem */
};

/* Fills in the attribution of an event class. requested: a set of enum announcement. */
void attribution_fill(struct attribution *attribution, const struct event_class *class,
		      uint32_t requested);

/*
 * For a first pass, before the event class of a record is looked up: chooses the kernel records
 * that announce something requested in any version. The second function returns whether another
 * record may announce something.
 */
void attribution_choose_first_pass(uint32_t requested, struct kernel_choice *choice);
bool attribution_may_announce(const struct event_record *record);

#endif
