/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for tests of many cases. They are the same in each run (xorshift64, Marsaglia
 * 2003).
 */
#ifndef TESTS_SUPPORT_CHANCE_H
#define TESTS_SUPPORT_CHANCE_H

#include <stdint.h>

static uint64_t state_of_chance = 7; /* never 0; each file that includes this has its own */

/* Returns a number from 0 to below - 1. */
static inline uint64_t chance(uint64_t below)
{
	state_of_chance ^= state_of_chance << 13;
	state_of_chance ^= state_of_chance >> 7;
	state_of_chance ^= state_of_chance << 17;
	return (state_of_chance >> 11) % below;
}

#endif
