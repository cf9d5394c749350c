/* SPDX-License-Identifier: MIT */
#include "exporter/track/repeats.h"

#include <stdlib.h>

#include <etw/stack_walk.h>

#include "base/guid.h"
#include "base/text.h"
#include "exporter/track/describing.h"

enum {
	COMPARED_MOST =
		1
		<< 20 /* the most different records; repetitions among further ones are not found */
};

/* ---- counting ---- */

/* Returns a hash of everything in which records can differ. */
static uint64_t hash_of(const struct etw_record *record)
{
	const uint64_t parts[] = {
		(uint64_t)record->raw_time,
		(uint64_t)record->processor << 32 | (uint64_t)record->type << 16 | record->id,
		(uint64_t)record->process_id << 32 | record->thread_id,
		(uint64_t)record->opcode << 48 | (uint64_t)record->version << 40 |
			(uint64_t)record->level << 32 | (uint64_t)record->channel << 16 |
			record->task,
		record->keyword,
		record->activity ? guid_hash(record->activity, hash_seed()) : 0,
		guid_hash(record->provider, hash_seed()),
		text_hash((const char *)record->payload, record->payload_size, hash_seed()),
		record->extended ? text_hash((const char *)record->extended, record->extended_size,
					     hash_seed()) :
				   0,
	};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		hash = hash_seeded(hash ^ parts[i], hash_seed());
	}
	return hash;
}

bool repeats_add(struct repeats *repeats, const struct etw_record *record)
{
	uint64_t hash = hash_of(record);
	const uint64_t *before = map_find(&repeats->earlier, hash);
	uint64_t *now = repeats->present.count < COMPARED_MOST ?
				map_put(&repeats->present, hash, NULL) :
				map_find(&repeats->present, hash);

	return now && ++*now <= (before ? *before : 0);
}

void repeats_next_file(struct repeats *repeats)
{
	const struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(&repeats->present, &at)) != NULL) {
		uint64_t *before = repeats->earlier.count < COMPARED_MOST ?
					   map_put(&repeats->earlier, slot->key, NULL) :
					   map_find(&repeats->earlier, slot->key);

		if (before && *before < slot->value) {
			*before = slot->value;
		}
	}
	map_done(&repeats->present);
}

void repeats_done(struct repeats *repeats)
{
	map_done(&repeats->earlier);
	map_done(&repeats->present);
}

/* ---- for readers of several files ---- */

struct finder {
	struct describing describing;
	struct repeats repeats;
	struct repeats stacks;
};

static void *finder_new(void)
{
	struct finder *finder = calloc(1, sizeof *finder);

	if (finder) {
		describing_init(&finder->describing);
	}
	return finder;
}

static void finder_free(void *context)
{
	struct finder *finder = context;

	if (finder) {
		describing_done(&finder->describing);
		repeats_done(&finder->repeats);
		repeats_done(&finder->stacks);
		free(finder);
	}
}

static void finder_next_file(void *context)
{
	struct finder *finder = context;

	describing_done(&finder->describing);
	repeats_next_file(&finder->repeats);
	repeats_next_file(&finder->stacks);
}

static bool finder_has(void *context, const struct etw_record *record)
{
	struct finder *finder = context;

	if (etw_is_stack_walk(record)) {
		return repeats_add(&finder->stacks, record);
	}
	return is_describing(&finder->describing, record) && repeats_add(&finder->repeats, record);
}

const struct etw_repeat_finder repeat_finder = {
	.new_finder = finder_new,
	.next_file = finder_next_file,
	.is_repeated = finder_has,
	.free_finder = finder_free,
};
