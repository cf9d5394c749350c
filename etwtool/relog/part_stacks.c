/* SPDX-License-Identifier: MIT */
#include "etwtool/relog/part_stacks.h"

#include <stddef.h>

/* The stack cache of a session has a few thousand keys (3 MiB in the profiles of WPR). */
enum { KEYS_MOST = 1 << 20 };

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

void part_stacks_look(struct part_stacks *stacks, uint64_t key, int64_t raw_time)
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
