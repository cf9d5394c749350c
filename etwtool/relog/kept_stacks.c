/* SPDX-License-Identifier: MIT */
#include "etwtool/relog/relog.h"

#include <stddef.h>
#include <stdlib.h>

enum {
	/*
	 * The stack of a program follows when its thread returns from the kernel. Of 9,359 stacks
	 * the latest came 0.4 s and some thousand events after its event (observed in
	 * net.4.5.2.x64.etl).
	 */
	EVENTS_MOST = 1 << 16,
	/* The stack cache of a session has a few thousand keys (3 MiB in the profiles of WPR). */
	KEYS_MOST = 1 << 20,
};

struct kept_event {
	uint64_t key;
	int64_t time;
};

/* ---- events ---- */

static uint64_t event_key(int64_t time, uint32_t thread_id)
{
	return hash_seeded(hash_seeded((uint64_t)time, hash_seed()) ^ thread_id, hash_seed());
}

static void forget_event(struct kept_stacks *stacks, const struct kept_event *event,
			 uint64_t number)
{
	const uint64_t *last = map_find(&stacks->events, event->key);

	if (last && *last == number) {
		map_remove(&stacks->events, event->key);
	}
	if (event->time > stacks->forgotten) {
		stacks->forgotten = event->time;
	}
}

void kept_stacks_note(struct kept_stacks *stacks, const struct etw_record *record)
{
	struct kept_event event = { event_key(record->raw_time, etw_stack_walk_thread(record)),
				    record->raw_time };
	struct kept_event *place;
	uint64_t *last;

	if (record->raw_time == ETW_RECORD_NO_TIME) {
		return;
	}
	if (!stacks->recent) {
		stacks->recent = calloc(EVENTS_MOST, sizeof *stacks->recent);
		stacks->forgotten = INT64_MIN;
	}
	if (!stacks->recent) {
		stacks->no_memory = true;
		return;
	}
	place = &stacks->recent[stacks->count % EVENTS_MOST];
	if (stacks->count >= EVENTS_MOST) {
		forget_event(stacks, place, stacks->count - EVENTS_MOST);
	}
	last = map_put(&stacks->events, event.key, NULL);
	if (!last) {
		stacks->no_memory = true;
		return;
	}
	*last = stacks->count++;
	*place = event;
}

static bool was_kept(const struct kept_stacks *stacks, const struct etw_stack_walk *walk)
{
	if (stacks->count == 0) {
		return false;
	}
	return walk->event_time <= stacks->forgotten ||
	       map_find(&stacks->events, event_key(walk->event_time, walk->thread_id)) ||
	       map_find(&stacks->events, event_key(walk->event_time, ETW_RECORD_NO_ID));
}

/* ---- keys ---- */

static void note_key(struct kept_stacks *stacks, uint64_t key)
{
	if (stacks->keys.count == KEYS_MOST) {
		stacks->keys_full |= !map_find(&stacks->keys, key);
	} else if (!map_put(&stacks->keys, key, NULL)) {
		stacks->no_memory = true;
	}
}

bool kept_stacks_keep(struct kept_stacks *stacks, const struct etw_record *record, bool kept)
{
	struct etw_stack_walk walk;
	bool stays;

	if (!etw_stack_walk_read(record, &walk)) {
		return kept;
	}
	if (walk.type == ETW_STACK_WALK_DEFINITION) {
		stays = map_remove(&stacks->keys, walk.key) || stacks->keys_full;
		return stays || kept;
	}
	stays = was_kept(stacks, &walk) || (kept && stacks->named);
	if (stays && walk.type == ETW_STACK_WALK_REFERENCE) {
		note_key(stacks, walk.key);
	}
	return stays;
}

void kept_stacks_done(struct kept_stacks *stacks)
{
	free(stacks->recent);
	map_done(&stacks->events);
	map_done(&stacks->keys);
}

/* ---- stacks of a part ---- */

void part_stacks_refer(struct part_stacks *stacks, uint64_t key, int64_t raw_time)
{
	bool room = stacks->references.count < KEYS_MOST, added = false;
	uint64_t *last = room ? map_put(&stacks->references, key, &added) :
				map_find(&stacks->references, key);

	if (!last) {
		stacks->no_memory |= room;
		stacks->full |= !room;
	} else if (added || raw_time > (int64_t)*last) {
		*last = (uint64_t)raw_time;
	}
}

void part_stacks_define(struct part_stacks *stacks, uint64_t key, int64_t raw_time)
{
	const uint64_t *last = map_find(&stacks->references, key);
	bool added = false;
	uint64_t *first;

	if (!last || raw_time < (int64_t)*last) {
		return;
	}
	first = map_put(&stacks->definitions, key, &added);
	if (!first) {
		stacks->no_memory = true;
	} else if (added || raw_time < (int64_t)*first) {
		*first = (uint64_t)raw_time;
	}
}

bool part_stacks_need(const struct part_stacks *stacks, uint64_t key, int64_t raw_time)
{
	const uint64_t *first = map_find(&stacks->definitions, key);

	return stacks->full || (first && raw_time <= (int64_t)*first);
}

void part_stacks_done(struct part_stacks *stacks)
{
	map_done(&stacks->references);
	map_done(&stacks->definitions);
	stacks->full = stacks->no_memory = false;
}
