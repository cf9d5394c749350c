/* SPDX-License-Identifier: MIT */
/*
 * The in-band manifests of a recording, and which of them decodes an event.
 *
 * Two processes can have two versions of one EventSource, whose manifests describe different events
 * under the same provider, or different layouts under the same id and version. An event is decoded
 * by the manifest that its own process announced, else by the newest one of the provider that
 * describes it (docs/etl-format.md section 11).
 *
 * trace_schemas.c is the only user and gives each provider a number. Only one consumer thread may
 * use the struct.
 */
#ifndef LIB_DECODE_TRACE_MANIFESTS_H
#define LIB_DECODE_TRACE_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

struct trace_manifests; /* opaque */

/* A whole manifest that a process announced. */
struct announced_manifest {
	uint32_t provider; /* number of the provider, below 2^26 */
	uint32_t process_id;
	int64_t time; /* time of the first chunk, 100 ns since 1601 UTC */
	const struct etw_text *xml;
};

struct trace_manifests *trace_manifests_new(struct etw_error *err);
void trace_manifests_free(struct trace_manifests *manifests);

/*
 * Adds a manifest; manifests may come in any order of time. Appends the provider's name in the
 * manifest to *name. A text that is no manifest is ignored and appends nothing. bytes_most limits
 * the memory of all manifests; a manifest beyond it, or beyond the bounds of its process, is
 * dropped and counted.
 */
void trace_manifests_add(struct trace_manifests *manifests,
			 const struct announced_manifest *announced, size_t bytes_most,
			 struct etw_text *name);

/* Notes the start or the end of a process, because its id means another process from then on.
 * Records may come in any order of time; other records are ignored. */
void trace_manifests_look(struct trace_manifests *manifests, const struct etw_record *record);

/* Prepares everything that was added for the look-ups. May be called again after more was added. */
void trace_manifests_finish(struct trace_manifests *manifests);

/*
 * Returns the schema of an event of the provider with this number, or NULL if no manifest describes
 * the event. If the schema depends on the process, *manifest_id becomes the id of a manifest with
 * this layout, from 1 to TRACE_MANIFESTS_MOST; otherwise it becomes 0.
 */
const struct etw_schema *trace_manifests_find(const struct trace_manifests *manifests,
					      uint32_t provider, const struct etw_record *record,
					      uint32_t *manifest_id);

/* Returns whether the schema of any event depends on its process. */
bool trace_manifests_differ(const struct trace_manifests *manifests);

/* Returns the approximate memory of the kept manifests in bytes. */
size_t trace_manifests_bytes(const struct trace_manifests *manifests);

/* Returns how many manifests, announcements, and starts and ends of processes were dropped, because
 * there were too many or there was no memory. */
uint64_t trace_manifests_dropped(const struct trace_manifests *manifests);

enum { TRACE_MANIFESTS_MOST = 1 << 14 }; /* different texts */

#endif
