/* SPDX-License-Identifier: MIT */
/*
 * Hashes of integers, and a hash table from a 64-bit key to a 64-bit value for one thread.
 *
 * Every key is allowed. To store a pointer, cast it through uintptr_t; the caller owns its target.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- hashes ---- */

/*
 * The author of a recording or a payload must not know which of its keys collide, since a table
 * with many collisions becomes a list that every event must walk. Tables with keys from outside
 * therefore use a seed.
 */

/* Returns a seed that differs between runs of the program and is constant in one run. Any thread
 * may call it. */
uint64_t hash_seed(void);

/* Hashes a key without a seed, so the result is the same in every run. Only for keys that the
 * program itself makes. */
static inline uint64_t hash_u64(uint64_t key)
{
	key ^= key >> 32;
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ (key >> 29);
}

/* Both rounds use the seed, so that no set of keys collides under all seeds. */
static inline uint64_t hash_seeded(uint64_t key, uint64_t seed)
{
	key = (key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ key >> 32 ^ seed << 17) * UINT64_C(0xd6e8feb86659fd93);
	return key ^ key >> 32;
}

/* ---- the table ---- */

struct map_slot {
	uint64_t key; /* 0 marks a free slot */
	uint64_t value;
};

/* Zero-initialise it. */
struct map {
	struct map_slot *slots; /* owned; NULL until the first key other than 0 */
	size_t mask;            /* number of slots - 1; the number is a power of two */
	uint64_t seed;          /* keys come from outside: see hash_seed() */
	size_t count;           /* number of entries, with that of key 0 */
	struct map_slot zero;   /* the entry of key 0, which cannot be among the slots */
	bool has_zero;
};

/*
 * Returns a pointer to the value of key, valid until the next map_put() or map_remove(); NULL if
 * the key is not in the map. It is inline because every event needs several look-ups.
 */
static inline uint64_t *map_find(const struct map *map, uint64_t key)
{
	struct map_slot *slots = map->slots;

	if (key == 0) {
		/* The map is const for this function, but its values are not. */
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

/* Finds key or adds it with the value 0, and returns a pointer to the value; NULL when memory runs
 * out. *added (may be NULL) is set to whether it was added. */
uint64_t *map_put(struct map *map, uint64_t key, bool *added);

bool map_remove(struct map *map, uint64_t key); /* returns false if the key was not there */

/*
 * Returns the next entry at or after position *at and moves *at past it; NULL at the end. Start
 * with *at = 0. No entry may be added or removed during the walk.
 */
struct map_slot *map_next(const struct map *map, size_t *at);

void map_done(struct map *map); /* frees the memory; the map is then empty and can be used again */

#endif
