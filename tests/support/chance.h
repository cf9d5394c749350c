/* SPDX-License-Identifier: MIT */
/*
 * Numbers by chance for tests of many cases: the same ones in each run (xorshift64, Marsaglia
 * 2003).
 */
#ifndef TESTS_SUPPORT_CHANCE_H
#define TESTS_SUPPORT_CHANCE_H

#include <stdint.h>

static uint64_t state_of_chance = 7; /* not 0; one for each file that includes this */

/* From 0 to below - 1. */
static inline uint64_t chance(uint64_t below)
{
	state_of_chance ^= state_of_chance << 13;
	state_of_chance ^= state_of_chance >> 7;
	state_of_chance ^= state_of_chance << 17;
	return (state_of_chance >> 11) % below;
}

#endif
