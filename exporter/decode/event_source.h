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

/* False: not such a record, or its envelope makes no sense. */
bool manifest_chunk_read(const struct event_record *record, struct manifest_chunk *chunk);

/*
 * Puts chunks together, one manifest at a time for each provider and process. Chunks must come in
 * order; after a gap the manifest is given up until its next chunk 0. What is incomplete is
 * bounded: a process with too many gives up its own, all with too many the oldest. Zero-initialise
 * it.
 */
struct manifest_assembly {
	size_t size_most;                /* of one manifest; 0: docs/etl-format.md section 18 */
	struct manifest_stream *streams; /* owned */
	size_t count;
	size_t oldest; /* the one to give up when there are too many */
	size_t bytes;  /* of all of them */
};

/*
 * Adds a chunk. Returns true when it completes a manifest: then *xml is the whole of it, to be
 * freed with text_free().
 */
bool manifest_assembly_add(struct manifest_assembly *assembly, const struct event_record *record,
			   const struct manifest_chunk *chunk, struct text *xml);
void manifest_assembly_done(struct manifest_assembly *assembly);

#endif
