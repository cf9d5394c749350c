/* SPDX-License-Identifier: MIT */
/*
 * Threads that a live session found running.
 */
#include "track/threads.h"

void threads_found(struct threads *threads, uint32_t thread_id, uint32_t process_id)
{
	uint64_t *value;

	if (thread_id == 0 || threads->found.count >= threads->limit) {
		return; /* the events that start with the session tell the same */
	}
	value = map_put(&threads->found, thread_id, NULL);
	if (value) {
		*value = process_id;
	}
}

uint32_t threads_process_otherwise(const struct threads *threads, uint32_t thread_id)
{
	const uint64_t *value = map_find(&threads->found, thread_id);

	return value ? (uint32_t)*value : RECORD_NO_ID;
}
