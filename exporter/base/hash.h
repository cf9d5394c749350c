/* SPDX-License-Identifier: MIT */
/*
 * Hashes of integers, for tables.
 *
 * Whoever wrote a recording or a payload must not know which of its keys collide, or a table of any
 * size becomes a list that every event walks: tables that outsiders fill take a seed.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

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

#endif
