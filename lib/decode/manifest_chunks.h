/* SPDX-License-Identifier: MIT */
/*
 * Chunks of a manifest that an EventSource writes as events, and the whole text that they make
 * (docs/etl-format.md section 11).
 */
#ifndef LIB_DECODE_MANIFEST_CHUNKS_H
#define LIB_DECODE_MANIFEST_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lib/source/event_record.h"

enum { ETW_MANIFEST_EVENT_ID = 0xfffe };

/* One chunk of a manifest, as a record contains it. */
struct etw_manifest_chunk {
	uint8_t format;
	uint8_t major;
	uint8_t minor;
	uint8_t magic;
	uint16_t total;     /* chunks of the manifest, at least 1 */
	uint16_t number;    /* below total */
	const uint8_t *xml; /* borrowed */
	uint32_t xml_size;
};

/* Returns false if it is another record, or its header is not valid. */
bool etw_manifest_chunk_read(const struct etw_record *record, struct etw_manifest_chunk *chunk);

/*
 * Assembles chunks, for each provider and process. They may arrive in any order, and those of
 * several manifests may be mixed. Incomplete manifests are bounded; beyond a bound one of them is
 * dropped, of the same provider and process if these have too many, else of the same process, else
 * the oldest of all. Zero-initialise it.
 */
struct etw_manifest_assembly {
	size_t size_most;                    /* of one manifest; 0: docs/etl-format.md section 18 */
	struct etw_manifest_stream *streams; /* owned */
	size_t count;
	size_t bytes;     /* of all of them */
	uint64_t started; /* streams so far */
	int64_t began;    /* time of chunk 0 of the manifest that was completed last */
	uint64_t dropped; /* incomplete manifests, beyond the bounds */
};

/*
 * Adds the chunk in a record; another record is ignored. Returns true if it completes a manifest;
 * then *xml is the whole manifest, which the caller frees with text_free().
 */
bool etw_manifest_assembly_add(struct etw_manifest_assembly *assembly,
			       const struct etw_record *record, struct etw_text *xml);
void etw_manifest_assembly_done(struct etw_manifest_assembly *assembly); /* `dropped` stays */

#endif
