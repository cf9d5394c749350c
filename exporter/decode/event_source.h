/* SPDX-License-Identifier: MIT */
/*
 * Manifests that .NET EventSources write into the recording, cut into chunks.
 *
 * Sources: microsoft/perfview, src/TraceEvent/DynamicTraceEventParser.cs; docs/etl-format.md
 * section 11.
 */
#ifndef DECODE_EVENT_SOURCE_H
#define DECODE_EVENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "source/event_record.h"

enum { MANIFEST_EVENT_ID = 0xfffe };

/* One chunk, as it stands in a record. */
struct manifest_chunk {
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
bool manifest_chunk_read(const struct event_record *record, struct manifest_chunk *chunk);

/*
 * Assembles chunks, one manifest at a time for each provider and process. Chunks must arrive in
 * order; after a gap the manifest is dropped until its next chunk 0. Incomplete manifests are
 * bounded: a process with too many loses one of its own, and if there are too many in total the
 * oldest is dropped. Zero-initialise it.
 */
struct manifest_assembly {
	size_t size_most;                /* of one manifest; 0: docs/etl-format.md section 18 */
	struct manifest_stream *streams; /* owned */
	size_t count;
	size_t oldest; /* the next one to drop when there are too many */
	size_t bytes;  /* of all of them */
};

/*
 * Adds a chunk. Returns true if it completes a manifest; then *xml is the whole manifest, which the
 * caller frees with text_free().
 */
bool manifest_assembly_add(struct manifest_assembly *assembly, const struct event_record *record,
			   const struct manifest_chunk *chunk, struct text *xml);
void manifest_assembly_done(struct manifest_assembly *assembly);

#endif
