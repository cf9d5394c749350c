/* SPDX-License-Identifier: MIT */
/*
 * What is worked out once for a kind of event, so that each event of it is a few loads: where its
 * process id stands, what it tells the tracker and where in the payload.
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

/* Which process an event belongs to, before its header is asked. */
enum owner {
	OWNER_HEADER,
	OWNER_PROCESS_ID,      /* `owner` is a process id */
	OWNER_THREAD_ID,       /* `owner` is a thread id */
	OWNER_THREAD_IF_ASKED, /* likewise, when the header has no process id */
};

/* What events of a kind tell; bits. */
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
	ANNOUNCES_SERVICE = 1 << 17, /* service behind a tag */
	ANNOUNCES_LATER = 1 << 14,   /* something, once its schema is known */

	/* What a look-ahead collects. */
	ANNOUNCES_IN_FIRST_PASS = ANNOUNCES_PROCESS | ANNOUNCES_PROCESS_IMAGE | ANNOUNCES_LATER |
				  ANNOUNCES_THREAD | ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT |
				  ANNOUNCES_VOLUME | ANNOUNCES_IMAGE | ANNOUNCES_DISK |
				  ANNOUNCES_TAG | ANNOUNCES_SERVICE
};

struct attribution {
	const struct schema *schema; /* of the kind; NULL: none, and then every reader is empty */
	uint32_t announces;
	uint8_t change; /* enum lifetime_change, of what it tells */
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
	int16_t name;               /* index of the field that names: -1 none */
	int16_t name_too;           /* DosPath, FileSystem */
};

/* Fills attribution for kind. `asked`: bits of enum tells that anybody is interested in. */
void attribution_fill(struct attribution *attribution, const struct event_class *class,
		      uint32_t asked);

/*
 * Before a look-ahead asks for the kind of a record: the kernel records that tell something in any
 * version; and whether another record may.
 */
void attribution_choose_first_pass(uint32_t asked, struct kernel_choice *choice);
bool attribution_may_announce(const struct event_record *record);

#endif
