/* SPDX-License-Identifier: MIT */
/*
 * Manifests that .NET EventSources write as events, cut into chunks.
 *
 * In-band manifests are those that arrive as events while other events are decoded. EventSources
 * emit them in a live session, and they are in a recording that can be read only once.
 *
 * Manifests are kept for each provider and process. In a live session a manifest describes the
 * events of the process that emitted it, and no others. In a recording, which is trusted, it also
 * describes events of processes that emitted none. Processes with the same text share one parsed
 * manifest, because all .NET processes emit the same few.
 *
 * Every process can emit a manifest, so everything is bounded: the total number and bytes, the
 * number for each process, and how often a process may replace one. A manifest beyond a bound is
 * dropped and counted, and its events have no schema. Only one consumer thread may use the tables;
 * any thread may read the statistics.
 *
 * Sources: microsoft/perfview, src/TraceEvent/DynamicTraceEventParser.cs; docs/etl-format.md
 * section 11.
 */
#ifndef LIB_DECODE_INBAND_MANIFESTS_H
#define LIB_DECODE_INBAND_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/describe.h>
#include <etw/manifest.h>

#include "base/error.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

enum {
	INBAND_MOST = 256,                     /* different texts that are kept */
	INBAND_MOST_OF_PROCESS = 16,           /* texts that one process announced first */
	INBAND_SIZE_MOST = 1 << 20,            /* bytes of one text, and of its parsed manifest */
	INBAND_BYTES_MOST = 64 << 20,          /* bytes of all texts and manifests */
	INBAND_ANNOUNCED_MOST = 4096,          /* remembered pairs (process, provider) */
	INBAND_KEPT_100NS = 10 * 10 * 1000000, /* least age of a text before it may be replaced */
};

struct etw_inband_manifests; /* opaque */

/*
 * Passes a record, which may be a chunk of a manifest. If it completes a manifest, returns the name
 * that the manifest has for the record's provider, valid until the next call; else NULL.
 */
const char *inband_manifests_add(struct etw_inband_manifests *inband,
				 const struct etw_record *record);

/*
 * Passes a record, which may report the start or the end of a process. Manifests of a process end
 * with it, because the process id may be used again. trusted: the record comes from a recording. In
 * a live session only records of the kernel count, because any process can write the events of
 * Microsoft-Windows-Kernel-Process.
 */
void inband_manifests_look(struct etw_inband_manifests *inband, const struct etw_record *record,
			   bool trusted);

/* Returns whether any manifest has arrived. Before the first one, no event has a schema here. */
bool inband_manifests_any(const struct etw_inband_manifests *inband);

/*
 * Finds the schema of an event in the last manifest that the event's process emitted for the
 * provider. If that manifest lacks the event and `trusted` is set, the last manifest of any process
 * that has the event is used. Returns NULL if there is none. The schema is valid until on_forget is
 * called with *manifest_id, which is never 0.
 */
const struct etw_schema *inband_manifests_find(struct etw_inband_manifests *inband,
					       const struct etw_record *record, bool trusted,
					       uint32_t *manifest_id);

#endif
