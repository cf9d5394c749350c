/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: how long a thread ran before it was switched out, and how long the next one had
 * been ready.
 *
 * Source: "CSwitch class" and "ReadyThread class", Microsoft Learn.
 */
#ifndef TRACK_SCHEDULER_H
#define TRACK_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "track/recent.h"

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
