/* SPDX-License-Identifier: MIT */
/*
 * The in-band manifests of a recording, and which of them decodes an event.
 *
 * Two processes can have two versions of one EventSource, whose manifests describe different events
 * under the same provider, or different layouts under the same id and version. An event is decoded
 * by the manifest that its own process announced, else by the newest one of the provider that
 * describes it (docs/etl-format.md section 11).
 *
 * It is a part of trace_schemas.h, which gives each provider a number. One consumer's.
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
	uint32_t provider; /* its number, below 2^26 */
	uint32_t process_id;
	int64_t time; /* of its first chunk, 100 ns since 1601 UTC */
	const struct etw_text *xml;
};

struct trace_manifests *trace_manifests_new(struct etw_error *err);
void trace_manifests_free(struct trace_manifests *manifests);

/*
 * Takes a manifest, in any order of time. Adds to *name the name that it has for its provider;
 * nothing if the text is no manifest, which is then ignored. bytes_most: what all manifests may
 * take; a manifest beyond it, or beyond the bounds of its process, is not kept.
 */
void trace_manifests_add(struct trace_manifests *manifests,
			 const struct announced_manifest *announced, size_t bytes_most,
			 struct etw_text *name);

/* Takes the start or the end of a process, in any order of time: its id means another process
 * before and after. Another record is ignored. */
void trace_manifests_look(struct trace_manifests *manifests, const struct etw_record *record);

/* Makes what was added ready for the look-ups. It may be called again after more was added. */
void trace_manifests_finish(struct trace_manifests *manifests);

/*
 * The schema of an event of the provider with this number; NULL: no manifest describes it. If it
 * depends on the process, *manifest_id becomes the id of a manifest with this layout, which is not
 * 0 and at most TRACE_MANIFESTS_MOST; else it is 0.
 */
const struct etw_schema *trace_manifests_find(const struct trace_manifests *manifests,
					      uint32_t provider, const struct etw_record *record,
					      uint32_t *manifest_id);

/* Whether the schema of any event depends on its process. */
bool trace_manifests_differ(const struct trace_manifests *manifests);

/* The memory that the kept manifests take, approximately. */
size_t trace_manifests_bytes(const struct trace_manifests *manifests);

/* Manifests, announcements of them, and starts and ends of processes that are not kept, because
 * there were too many or there was no memory. */
uint64_t trace_manifests_dropped(const struct trace_manifests *manifests);

enum { TRACE_MANIFESTS_MOST = 1 << 14 }; /* different texts */

#endif
