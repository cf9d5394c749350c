/* SPDX-License-Identifier: MIT */
/*
 * Threads: which process a thread id belonged to at a time.
 *
 * Thread id 0 is that of every processor's idle thread and belongs to process 0, told or not.
 *
 * Source: docs/etl-format.md section 16.2.
 */
#ifndef TRACK_THREADS_H
#define TRACK_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "source/event_record.h"
#include "track/timeline.h"

struct threads {
	struct timeline timeline; /* thread id -> process id + 1; 0: not told */
	struct map found; /* of a live session: threads that ran, for those that no event told of;
			     thread id -> process id */
	uint32_t limit;   /* of found */
};

static inline void threads_init(struct threads *threads, uint32_t limit)
{
	timeline_init(&threads->timeline, limit);
	threads->found = (struct map){ 0 };
	threads->limit = limit;
}

static inline void threads_done(struct threads *threads)
{
	timeline_done(&threads->timeline);
	map_done(&threads->found);
}

static inline void threads_clear(struct threads *threads)
{
	timeline_clear(&threads->timeline);
	map_done(&threads->found);
}

/* process_id: RECORD_NO_ID when not known. */
static inline void threads_announce(struct threads *threads, enum lifetime_change change,
				    uint32_t thread_id, int64_t time, uint32_t process_id)
{
	if (thread_id != 0 && thread_id != RECORD_NO_ID) {
		timeline_announce(&threads->timeline, change, thread_id, time, process_id + 1);
	}
}

static inline void threads_build(struct threads *threads)
{
	timeline_sort(&threads->timeline);
	timeline_build(&threads->timeline);
}

/* A thread that was found running: serves where no event tells whose it is. */
void threads_found(struct threads *threads, uint32_t thread_id, uint32_t process_id);

/* Of a thread that no event tells of. */
uint32_t threads_process_otherwise(const struct threads *threads, uint32_t thread_id);

/* The process a thread belonged to; RECORD_NO_ID when nobody told. */
static inline uint32_t threads_process(struct threads *threads, uint32_t thread_id, int64_t time)
{
	const struct lifetime *instance;

	if (thread_id == 0) {
		return 0;
	}
	instance = lifetimes_at(&threads->timeline.table, thread_id, time);
	return instance ? instance->value - 1 : threads_process_otherwise(threads, thread_id);
}

#endif
