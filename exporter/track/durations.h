/* SPDX-License-Identifier: MIT */
/*
 * When something began that is under way: requests by their IRP, threads that are ready.
 *
 * A table of fixed size: four places for each hash; when they are taken the oldest goes and is
 * counted. What never ends (the end was lost, or is not recorded) so makes room by itself.
 */
#ifndef TRACK_DURATIONS_H
#define TRACK_DURATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- recent ---- */

struct recent_entry {
	uint64_t key;
	int64_t time;
	uint32_t owner; /* what the caller gave, as is tag */
	uint8_t tag;
	bool taken;
};

struct recent {
	struct recent_entry *entries; /* owned; NULL until the first one */
	size_t sets;                  /* a power of two */
	uint64_t count;
	uint64_t evictions;
};

/* sets: a power of two, times four entries. */
void recent_init(struct recent *recent, size_t sets);
void recent_done(struct recent *recent);
void recent_clear(struct recent *recent);

/* Something began; a beginning of the same key that had no end is forgotten. */
void recent_begin(struct recent *recent, uint64_t key, int64_t time, uint8_t tag, uint32_t owner);

/* It ended: takes the beginning out. False when there is none; *begin is left alone then. */
bool recent_end(struct recent *recent, uint64_t key, struct recent_entry *begin);

/* ---- scheduler ---- */

/*
 * The scheduler: how long a thread ran before it was switched out, and how long the next one had
 * been ready.
 *
 * Source: "CSwitch class" and "ReadyThread class", Microsoft Learn.
 */
struct scheduler_processor; /* private */

struct scheduler {
	struct scheduler_processor *processors; /* owned */
	uint32_t processor_count;
	struct recent ready; /* thread id -> when it became ready */
};

void scheduler_init(struct scheduler *scheduler);
void scheduler_done(struct scheduler *scheduler);
void scheduler_clear(struct scheduler *scheduler);

void scheduler_ready(struct scheduler *scheduler, uint32_t thread_id, int64_t time);

/* Ticks; UINT64_MAX when not known. */
struct scheduler_switch {
	uint64_t on_cpu; /* how long the old thread ran: since it was switched in on this processor
			  */
	uint64_t ready;  /* how long the new thread had been ready */
};

void scheduler_switch(struct scheduler *scheduler, uint16_t processor, uint32_t old_thread,
		      uint32_t new_thread, int64_t time, struct scheduler_switch *out);

#endif
