/* SPDX-License-Identifier: MIT */
/*
 * Hashes of schemas, to find those that are alike among many.
 */
#ifndef LIB_DECODE_SCHEMA_HASH_H
#define LIB_DECODE_SCHEMA_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "lib/decode/schema.h"

/* Zero-initialise it. While it is in use, no schema that it has seen may be freed. */
struct schema_hashes {
	struct map known; /* fields and maps of values, which many schemas share -> their hash */
	struct etw_text bytes;
	bool failed; /* no memory; the hashes cannot be used */
};

/*
 * Equal for schemas that decode alike and have the same names, of fields, values and the event. The
 * hash has a seed, so that no author of schemas can make two that share one.
 */
uint64_t schema_hash(struct schema_hashes *hashes, const struct etw_schema *schema);

void schema_hashes_done(struct schema_hashes *hashes);

#endif
