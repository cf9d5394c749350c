/* SPDX-License-Identifier: MIT */
/*
 * Arguments of command lines to fuzz from.
 */
#ifndef SUPPORT_FUZZ_SEEDS_ARGUMENTS_H
#define SUPPORT_FUZZ_SEEDS_ARGUMENTS_H

#include <stdbool.h>

#include <etw/mirror.h>

/* Adds the seed of an index, in the form that fuzz_arguments takes, and its name, which is valid
 * until the next call; false behind the last. */
bool fuzz_arguments_seed(unsigned index, struct etw_payload *seed, const char **name);

#endif
