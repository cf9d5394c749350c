/* SPDX-License-Identifier: MIT */
/*
 * Schemas and payloads to fuzz from, in the form that fuzz_schema takes.
 */
#ifndef SUPPORT_FUZZ_SEEDS_SCHEMA_H
#define SUPPORT_FUZZ_SEEDS_SCHEMA_H

#include <stdbool.h>

#include <etw/mirror.h>

/*
 * Writes seed number `index` into an initialised payload and sets *name; false: there are no more.
 */
bool fuzz_schema_seed(unsigned index, struct etw_payload *seed, const char **name);

#endif
