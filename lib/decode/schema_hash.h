/* SPDX-License-Identifier: MIT */
/*
 * Hashes of schemas, by which equal schemas are found among many.
 */
#ifndef LIB_DECODE_SCHEMA_HASH_H
#define LIB_DECODE_SCHEMA_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "lib/decode/schema.h"

/* Zero-initialise the struct. Do not free a schema that was hashed while the struct is in use. */
struct schema_hashes {
	/* Maps the address of field arrays and value maps, which many schemas share, to their
	 * hash. */
	struct map known;
	struct etw_text bytes;
	bool failed; /* no memory; the hashes cannot be used */
};

/*
 * Returns the hash of a schema. Schemas that decode alike, with the same names of the event, its
 * fields and its values, have equal hashes. The hash is seeded, so that no author of schemas
 * can choose two with equal hashes.
 */
uint64_t schema_hash(struct schema_hashes *hashes, const struct etw_schema *schema);

void schema_hashes_done(struct schema_hashes *hashes);

#endif
