/* SPDX-License-Identifier: MIT */
/*
 * The holds of in-band manifests in a recording. A hold says which manifest decodes the events of a
 * process, and in which period.
 *
 * Zero-initialise struct manifest_holds. Only one consumer thread may use it.
 */
#ifndef LIB_DECODE_MANIFEST_HOLDS_H
#define LIB_DECODE_MANIFEST_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/kernel.h>
#include <etw/manifest.h>

#include "lib/source/event_record.h"

/* One announcement: a process emitted a whole manifest. */
struct manifest_announcement {
	uint32_t provider; /* index of the provider */
	uint32_t process_id;
	int64_t time;      /* 100 ns since 1601 UTC */
	uint32_t manifest; /* index of the manifest */
	uint32_t order;    /* counts announcements from 0; set by manifest_holds_add() */
};

struct manifest_holds {
	struct manifest_announcement *announcements; /* owned, as are the other arrays */
	size_t announcement_count, announcement_capacity;
	struct process_change *changes; /* starts and ends of processes */
	size_t change_count, change_capacity;
	struct manifest_hold *holds; /* sorted by provider, process and time */
	size_t count;
};

enum { NO_MANIFEST = UINT32_MAX };

/*
 * Returns whether the record is the start or the end of a process: event 1 or 2 of the kernel class
 * Process, or of Microsoft-Windows-Kernel-Process. From *time on (100 ns since 1601 UTC), the id
 * *process_id means another process.
 */
bool process_change_read(const struct etw_record *record, uint32_t *process_id, int64_t *time);

/* Adds an announcement and sets its order. Announcements may come in any order of time. Returns
 * false if the announcement is dropped, because there are too many or there is no memory. */
bool manifest_holds_add(struct manifest_holds *holds, struct manifest_announcement *announcement);

/* Notes the start or the end of a process, because its id means another process from then on.
 * Records may come in any order of time; other records are ignored. Returns false if the change is
 * dropped, because there are too many or there is no memory. */
bool manifest_holds_look(struct manifest_holds *holds, const struct etw_record *record);

/* Prepares everything that was added for manifest_holds_find(). May be called again after more was
 * added. */
void manifest_holds_finish(struct manifest_holds *holds);

/* Returns the index of the manifest that the event's own process announced for the provider;
 * NO_MANIFEST if it announced none. */
uint32_t manifest_holds_find(const struct manifest_holds *holds, uint32_t provider,
			     const struct etw_record *record);

void manifest_holds_done(struct manifest_holds *holds);

#endif
