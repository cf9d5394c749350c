/* SPDX-License-Identifier: MIT */
/*
 * Requests, headers and web configurations to fuzz from.
 */
#ifndef SUPPORT_FUZZ_SEEDS_HTTP_H
#define SUPPORT_FUZZ_SEEDS_HTTP_H

#include <stdbool.h>

#include <etw/mirror.h>

/* Adds the seed of an index, in the form that fuzz_http takes, and its name, which is valid until
 * the next call; false behind the last. */
bool fuzz_http_seed(unsigned index, struct etw_payload *seed, const char **name);

#endif
