/* SPDX-License-Identifier: MIT */
/*
 * Seeds of what is announced to a live session, in the form that fuzz_inband takes.
 */
#ifndef SUPPORT_FUZZ_SEEDS_INBAND_H
#define SUPPORT_FUZZ_SEEDS_INBAND_H

#include <stdbool.h>

#include <etw/mirror.h>

/*
 * Writes seed number `index` into an initialised payload and sets *name; false: there are no more.
 */
bool fuzz_inband_seed(unsigned index, struct etw_payload *seed, const char **name);

#endif
