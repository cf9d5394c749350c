/* SPDX-License-Identifier: MIT */
/* Compares schemas: two that are the same decode every payload in the same way. */
#ifndef SUPPORT_SAME_SCHEMA_H
#define SUPPORT_SAME_SCHEMA_H

#include "lib/decode/manifest/manifest.h"
#include "lib/decode/schema.h"

/* Fails the test unless both have the same fields (names, types, counts, lengths, value maps) and
 * the same name in rules. */
void assert_same_schema(const struct etw_schema *a, const struct etw_schema *b);

/* Does the same for all events of a provider and their descriptions. */
void assert_same_provider(const struct etw_manifest *a, size_t a_index,
			  const struct etw_manifest *b, size_t b_index);

#endif
