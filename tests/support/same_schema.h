/* SPDX-License-Identifier: MIT */
/* Whether two schemas decode every payload alike. */
#ifndef SUPPORT_SAME_SCHEMA_H
#define SUPPORT_SAME_SCHEMA_H

#include "lib/decode/manifest/manifest.h"
#include "lib/decode/schema.h"

/* Fields with names, types, counts, lengths and value maps, and the name that rules use. */
void assert_same_schema(const struct etw_schema *a, const struct etw_schema *b);

/* Likewise all events of a provider, and what is said about each. */
void assert_same_provider(const struct etw_manifest *a, size_t a_index,
			  const struct etw_manifest *b, size_t b_index);

#endif
