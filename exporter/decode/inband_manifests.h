/* SPDX-License-Identifier: MIT */
/*
 * Manifests that .NET EventSources write as events, cut into chunks.
 *
 * In-band manifests are those that arrive as events while other events are decoded. EventSources
 * emit them in a live session, and they are in a recording that can be read only once.
 *
 * They are kept for each provider and process: a manifest describes the events of the process that
 * emitted it, and no others. Processes with the same text share one parsed manifest, because all
 * .NET processes emit the same few.
 *
 * Every process can emit a manifest, so everything is bounded: the number and bytes of all, the
 * number for each process, and how often a process may replace one. Beyond the bounds the manifest
 * is dropped and counted, and its events stay without a schema. The tables belong to one consumer;
 * any thread may read the statistics.
 *
 * Sources: microsoft/perfview, src/TraceEvent/DynamicTraceEventParser.cs; docs/etl-format.md
 * section 11.
 */
#ifndef DECODE_INBAND_MANIFESTS_H
#define DECODE_INBAND_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "decode/schema.h"
#include "source/event_record.h"

enum {
	INBAND_MOST = 256,                     /* different texts */
	INBAND_MOST_OF_PROCESS = 16,           /* of them, first announced by one process */
	INBAND_SIZE_MOST = 1 << 20,            /* of one text, and of its parsed manifest */
	INBAND_BYTES_MOST = 64 << 20,          /* of all */
	INBAND_ANNOUNCED_MOST = 4096,          /* remembered pairs of process and provider */
	INBAND_KEPT_100NS = 10 * 10 * 1000000, /* before its process may replace a text */
};

enum { MANIFEST_EVENT_ID = 0xfffe };

/* One chunk of a manifest, as a record contains it. */
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
 * Adds the chunk in a record; another record is ignored. Returns true if it completes a manifest;
 * then *xml is the whole manifest, which the caller frees with text_free().
 */
bool manifest_assembly_add(struct manifest_assembly *assembly, const struct event_record *record,
			   struct text *xml);
void manifest_assembly_done(struct manifest_assembly *assembly);

struct inband_manifests; /* opaque */

/*
 * on_forget: called before the schemas of this manifest are freed; the callee must drop its
 * pointers to them. NULL if no pointers are kept.
 */
struct inband_manifests *inband_manifests_new(void (*on_forget)(void *context,
								uint32_t manifest_id),
					      void *context, struct error *err);
void inband_manifests_free(struct inband_manifests *inband); /* without on_forget */

/*
 * Passes a record, which may be a chunk of a manifest. If it completes a manifest, returns the name
 * that the manifest has for the record's provider, valid until the next call; else NULL.
 */
const char *inband_manifests_add(struct inband_manifests *inband,
				 const struct event_record *record);

/* Whether there was any manifest. While there was none, no event has a schema here. */
bool inband_manifests_any(const struct inband_manifests *inband);

/*
 * The schema of an event in the last manifest that its process emitted for its provider; NULL:
 * none. It is valid until on_forget is called with *manifest_id, which is never 0.
 */
const struct schema *inband_manifests_find(struct inband_manifests *inband,
					   const struct event_record *record,
					   uint32_t *manifest_id);

/* Any thread. */
struct inband_statistics {
	uint64_t entries; /* manifests that are kept */
	uint64_t dropped; /* manifests that were replaced, or for which there was no room */
};
void inband_manifests_statistics(const struct inband_manifests *inband,
				 struct inband_statistics *statistics);

#endif
