/* SPDX-License-Identifier: MIT */
/*
 * The seed of hashes, and the hash table.
 *
 * The table uses open addressing with linear probing and is at most half full. Key 0 marks a free
 * slot, so the entry of the real key 0 is stored outside of the slots. Removing an entry leaves a
 * hole, which would end later searches too early. map_remove() therefore moves entries after the
 * hole back into it, instead of marking the hole; the table never needs to be cleaned.
 */
#include "base/map.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/os.h"

/* ---- hashes ---- */

uint64_t hash_seed(void)
{
	static _Atomic(uint64_t) seed; /* 0: not chosen yet */
	uint64_t chosen = atomic_load_explicit(&seed, memory_order_relaxed);

	if (chosen == 0) {
		/* The low digits of two clocks and the address of the program are random enough. */
		uint64_t made = hash_u64(os_unix_time_ns() ^ os_monotonic_ns() << 32 ^
					 (uint64_t)(uintptr_t)&seed) |
				1;

		/* If two threads arrive here at once, the first one wins. */
		if (atomic_compare_exchange_strong(&seed, &chosen, made)) {
			chosen = made;
		}
	}
	return chosen;
}

/* ---- the table ---- */

enum { MAP_SLOTS_MIN = 16 };

static size_t home_of(const struct map *map, uint64_t key)
{
	return (size_t)hash_seeded(key, map->seed) & map->mask;
}

/* Returns the slot of key, or the free slot where it belongs. */
static struct map_slot *slot_for(const struct map *map, uint64_t key)
{
	size_t i = home_of(map, key);

	while (map->slots[i].key != key && map->slots[i].key != 0) {
		i = (i + 1) & map->mask;
	}
	return &map->slots[i];
}

static bool grow(struct map *map)
{
	size_t slot_count = map->slots ? 2 * (map->mask + 1) : MAP_SLOTS_MIN;
	struct map grown = *map;

	grown.slots = calloc(slot_count, sizeof *grown.slots);
	if (!grown.slots) {
		memory_note_loss();
		return false;
	}
	grown.mask = slot_count - 1;
	grown.seed = hash_seed();
	for (size_t i = 0; map->slots && i <= map->mask; i++) {
		if (map->slots[i].key != 0) {
			*slot_for(&grown, map->slots[i].key) = map->slots[i];
		}
	}
	free(map->slots);
	*map = grown;
	return true;
}

uint64_t *map_put(struct map *map, uint64_t key, bool *added)
{
	uint64_t *value = map_find(map, key);
	struct map_slot *slot;

	if (value) {
		if (added) {
			*added = false;
		}
		return value;
	}
	if (key == 0) {
		slot = &map->zero;
		map->has_zero = true;
	} else {
		if ((!map->slots || map->count >= (map->mask + 1) / 2) && !grow(map)) {
			return NULL;
		}
		slot = slot_for(map, key);
	}
	slot->key = key;
	slot->value = 0;
	map->count++;
	if (added) {
		*added = true;
	}
	return &slot->value;
}

bool map_remove(struct map *map, uint64_t key)
{
	size_t hole;

	if (!map_find(map, key)) {
		return false;
	}
	map->count--;
	if (key == 0) {
		map->has_zero = false;
		return true;
	}
	hole = (size_t)(slot_for(map, key) - map->slots);
	for (size_t i = (hole + 1) & map->mask; map->slots[i].key != 0; i = (i + 1) & map->mask) {
		/* An entry may move to the hole unless its home is after the hole; otherwise a
		 * search for it would start after its new place. */
		size_t from_home = (i - home_of(map, map->slots[i].key)) & map->mask;
		size_t from_hole = (i - hole) & map->mask;

		if (from_home >= from_hole) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole] = (struct map_slot){ 0 };
	return true;
}

struct map_slot *map_next(const struct map *map, size_t *at)
{
	/* Position 0 is key 0, position i + 1 is slot i. */
	if (*at == 0) {
		*at = 1;
		if (map->has_zero) {
			return (struct map_slot *)(uintptr_t)&map->zero;
		}
	}
	while (map->slots && *at <= map->mask + 1) {
		struct map_slot *slot = &map->slots[*at - 1];

		(*at)++;
		if (slot->key != 0) {
			return slot;
		}
	}
	return NULL;
}

void map_done(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}
