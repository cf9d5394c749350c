/* SPDX-License-Identifier: MIT */
#include "track/repeats.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"
#include "track/describing.h"

enum { COMPARED_MOST = 1 << 20 /* different records; repetitions of more are not found */ };

struct repeats {
	struct describing describing;
	struct map earlier; /* hash of a record -> how often a file before had it */
	struct map present; /* likewise, this file so far */
};

static void *repeats_new(void)
{
	struct repeats *repeats = calloc(1, sizeof *repeats);

	if (repeats) {
		describing_init(&repeats->describing);
	}
	return repeats;
}

static void repeats_free(void *context)
{
	struct repeats *repeats = context;

	if (repeats) {
		describing_done(&repeats->describing);
		map_done(&repeats->earlier);
		map_done(&repeats->present);
		free(repeats);
	}
}

static void repeats_next_file(void *context)
{
	struct repeats *repeats = context;
	const struct map_slot *slot;
	size_t at = 0;

	describing_done(&repeats->describing);
	describing_init(&repeats->describing);
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

/* Of all in which records differ. */
static uint64_t hash_of(const struct event_record *record)
{
	const uint64_t parts[] = {
		(uint64_t)record->raw_time,
		(uint64_t)record->processor << 32 | (uint64_t)record->type << 16 | record->id,
		(uint64_t)record->process_id << 32 | record->thread_id,
		(uint64_t)record->opcode << 8 | record->version,
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

static bool repeats_has(void *context, const struct event_record *record)
{
	struct repeats *repeats = context;
	const uint64_t *before;
	uint64_t *now, hash;

	if (!is_describing(&repeats->describing, record)) {
		return false;
	}
	hash = hash_of(record);
	before = map_find(&repeats->earlier, hash);
	now = repeats->present.count < COMPARED_MOST ? map_put(&repeats->present, hash, NULL) :
						       map_find(&repeats->present, hash);
	return now && ++*now <= (before ? *before : 0);
}

const struct repeat_finder repeat_finder = {
	.new_finder = repeats_new,
	.next_file = repeats_next_file,
	.is_repeated = repeats_has,
	.free_finder = repeats_free,
};
