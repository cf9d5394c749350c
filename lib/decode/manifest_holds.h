/* SPDX-License-Identifier: MIT */
/*
 * When the in-band manifests of a recording hold: which process announced which of them, and from
 * when until when its events are decoded by it.
 *
 * Zero-initialise the struct. One consumer's.
 */
#ifndef LIB_DECODE_MANIFEST_HOLDS_H
#define LIB_DECODE_MANIFEST_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/kernel.h>
#include <etw/manifest.h>

#include "lib/source/event_record.h"

/* A process announced a manifest. */
struct manifest_announcement {
	uint32_t provider; /* number */
	uint32_t process_id;
	int64_t time;      /* 100 ns since 1601 UTC */
	uint32_t manifest; /* number */
	uint32_t order;    /* set by manifest_holds_add(): number of the announcement, from 0 */
};

struct manifest_holds {
	struct manifest_announcement *announcements; /* owned, as are the other arrays */
	size_t announcement_count, announcement_capacity;
	struct process_change *changes; /* starts and ends of processes */
	size_t change_count, change_capacity;
	struct manifest_hold *holds; /* by provider, process and time */
	size_t count;
};

enum { NO_MANIFEST = UINT32_MAX };

/*
 * Whether the record is the start or the end of a process: Process 1 or 2 of the kernel, or
 * Microsoft-Windows-Kernel-Process 1 or 2. From *time on, the id means another process.
 */
bool process_change_read(const struct etw_record *record, uint32_t *process_id, int64_t *time);

/* Adds an announcement, in any order of time, and sets its order. False: it is not kept, because
 * there are too many or there is no memory. */
bool manifest_holds_add(struct manifest_holds *holds, struct manifest_announcement *announcement);

/* Takes the start or the end of a process, in any order of time: its id means another process
 * before and after. Another record is ignored. False: it is not kept, because there are too many or
 * there is no memory. */
bool manifest_holds_look(struct manifest_holds *holds, const struct etw_record *record);

/* Makes what was added ready for manifest_holds_find(). It may be called again. */
void manifest_holds_finish(struct manifest_holds *holds);

/* The manifest of the event's own process for the provider; NO_MANIFEST: it announced none. */
uint32_t manifest_holds_find(const struct manifest_holds *holds, uint32_t provider,
			     const struct etw_record *record);

void manifest_holds_done(struct manifest_holds *holds);

#endif
