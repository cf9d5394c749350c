/* SPDX-License-Identifier: MIT */
/*
 * A hash table from a 64-bit key to a 64-bit value, for the tables of one thread.
 *
 * Open addressing with linear probing, at most half full; deletion moves later entries back, so
 * that no tombstones gather. Every key is allowed. Whoever stores pointers casts through uintptr_t
 * and owns what they point to.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- hash ---- */

/*
 * Hashes of integers, for tables.
 *
 * Whoever wrote a recording or a payload must not know which of its keys collide, or a table of any
 * size becomes a list that every event walks: tables that outsiders fill take a seed.
 */
/* Differs from run to run; the same for all calls in one run. Any thread. */
uint64_t hash_seed(void);

/* The same in every run: for keys of our own making. */
static inline uint64_t hash_u64(uint64_t key)
{
	key ^= key >> 32;
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ (key >> 29);
}

/* Two rounds, the seed in both: no set of keys collides under all seeds. */
static inline uint64_t hash_seeded(uint64_t key, uint64_t seed)
{
	key = (key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ key >> 32 ^ seed << 17) * UINT64_C(0xd6e8feb86659fd93);
	return key ^ key >> 32;
}

/* ---- map ---- */

struct map_slot {
	uint64_t key; /* among the slots, 0 marks a free one */
	uint64_t value;
};

/* Zero-initialise it. */
struct map {
	struct map_slot *slots; /* owned; NULL until the first key other than 0 */
	size_t mask;            /* slots - 1; slots are a power of two */
	uint64_t seed;          /* keys come from outside: see hash.h */
	size_t count;           /* entries, that of key 0 included */
	struct map_slot zero;   /* the entry of key 0, which cannot be among the slots */
	bool has_zero;
};

/*
 * A pointer to the value of key, valid until the next map_put or map_remove; NULL when there is
 * none. Inline: several look-ups fall on every event.
 */
static inline uint64_t *map_find(const struct map *map, uint64_t key)
{
	struct map_slot *slots = map->slots;

	if (key == 0) {
		/* The const is the caller's promise about the map, not about its values. */
		return map->has_zero ? (uint64_t *)(uintptr_t)&map->zero.value : NULL;
	}
	if (!slots) {
		return NULL;
	}
	for (size_t i = (size_t)hash_seeded(key, map->seed) & map->mask;; i = (i + 1) & map->mask) {
		if (slots[i].key == key) {
			return &slots[i].value;
		}
		if (slots[i].key == 0) {
			return NULL;
		}
	}
}

/* Finds key or adds it with value 0; NULL without memory. *added, if not NULL, tells which. */
uint64_t *map_put(struct map *map, uint64_t key, bool *added);

bool map_remove(struct map *map, uint64_t key); /* false when it was not there */

/*
 * The next entry at or after position *at, which then points behind it; NULL at the end. Start with
 * *at = 0. No entry may be added or removed during the walk.
 */
struct map_slot *map_next(const struct map *map, size_t *at);

void map_done(struct map *map); /* frees; the map is empty and usable afterwards */

#endif
