/* SPDX-License-Identifier: MIT */
#include "exporter/track/stack_owners.h"

#include <etw/record.h>

/* Two stacks with one key are so unlikely that the later one may replace the first. */
static uint64_t key_of(uint32_t thread_id, int64_t time)
{
	return hash_seeded((uint64_t)time, hash_seed() ^ thread_id);
}

void stack_owners_add(struct stack_owners *owners, uint32_t thread_id, int64_t time,
		      uint32_t process_id)
{
	uint64_t key = key_of(thread_id, time);
	uint64_t *found = owners->processes.count < owners->limit ?
				  map_put(&owners->processes, key, NULL) :
				  map_find(&owners->processes, key);

	if (found) {
		*found = (uint64_t)thread_id << 32 | process_id;
	} else {
		owners->refused++;
	}
}

void stack_owners_keep(struct stack_owners *owners,
		       bool (*is_unknown)(void *context, uint32_t thread_id), void *context)
{
	struct map kept = { 0 };
	const struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(&owners->processes, &at)) != NULL) {
		uint64_t *to;

		if (!is_unknown(context, (uint32_t)(slot->value >> 32))) {
			continue;
		}
		to = map_put(&kept, slot->key, NULL);
		if (to) {
			*to = slot->value;
		} else {
			owners->evictions++; /* no memory */
		}
	}
	map_done(&owners->processes);
	owners->processes = kept;
	owners->evictions += kept.count > 0 ? owners->refused : 0;
	owners->refused = 0;
}

uint32_t stack_owners_find(const struct stack_owners *owners, uint32_t thread_id, int64_t time)
{
	const uint64_t *found;

	if (owners->processes.count == 0) {
		return ETW_RECORD_NO_ID;
	}
	found = map_find(&owners->processes, key_of(thread_id, time));
	return found && *found >> 32 == thread_id ? (uint32_t)*found : ETW_RECORD_NO_ID;
}

void stack_owners_clear(struct stack_owners *owners)
{
	map_done(&owners->processes);
}
