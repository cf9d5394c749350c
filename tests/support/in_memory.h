/* SPDX-License-Identifier: MIT */
/*
 * Recordings in memory, for tests: what should not fail fails the test.
 */
#ifndef SUPPORT_IN_MEMORY_H
#define SUPPORT_IN_MEMORY_H

#include "tests/support/etl_builder.h"

struct etl_builder *open_in_memory(const struct etl_builder_options *options);

/* The bytes are the builder's, until etl_builder_close(). */
const uint8_t *finish_in_memory(struct etl_builder *builder, size_t *size);

#endif
