/* SPDX-License-Identifier: MIT */
/*
 * Keys of tables that recordings fill: whoever made a recording must not know which keys collide,
 * or a table of any size becomes a list that every event walks.
 */
#ifndef TRACK_KEY_MIX_H
#define TRACK_KEY_MIX_H

#include <stdint.h>

#include "base/map.h"
#include "base/os.h"

/* A number that differs from run to run. */
static inline uint64_t key_seed(void)
{
	static const char here;

	return hash_u64(os_unix_time_ns() ^ os_monotonic_ns() << 32) ^ (uintptr_t)&here;
}

/* The key as a table holds it: another one for each key, and another order for each seed. */
static inline uint64_t key_mix(uint64_t key, uint64_t seed)
{
	key = (key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ key >> 32 ^ seed << 17) * UINT64_C(0xd6e8feb86659fd93);
	return key;
}

#endif
