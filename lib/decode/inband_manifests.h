/* SPDX-License-Identifier: MIT */
/*
 * Manifests that .NET EventSources write as events, cut into chunks.
 *
 * In-band manifests are those that arrive as events while other events are decoded. EventSources
 * emit them in a live session, and they are in a recording that can be read only once.
 *
 * They are kept for each provider and process: in a live session a manifest describes the events of
 * the process that emitted it, and no others. In a recording, which is trusted, it also describes
 * events of processes that emitted none. Processes with the same text share one parsed manifest,
 * because all .NET processes emit the same few.
 *
 * Every process can emit a manifest, so everything is bounded: the number and bytes of all, the
 * number for each process, and how often a process may replace one. Beyond the bounds the manifest
 * is dropped and counted, and its events stay without a schema. The tables belong to one consumer;
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
	INBAND_MOST = 256,                     /* different texts */
	INBAND_MOST_OF_PROCESS = 16,           /* of them, first announced by one process */
	INBAND_SIZE_MOST = 1 << 20,            /* of one text, and of its parsed manifest */
	INBAND_BYTES_MOST = 64 << 20,          /* of all */
	INBAND_ANNOUNCED_MOST = 4096,          /* remembered pairs of process and provider */
	INBAND_KEPT_100NS = 10 * 10 * 1000000, /* before its process may replace a text */
};

struct etw_inband_manifests; /* opaque */

/* Whether there was any manifest. While there was none, no event has a schema here. */
bool inband_manifests_any(const struct etw_inband_manifests *inband);

/*
 * The schema of an event in the last manifest that its process emitted for its provider; if that
 * lacks the event and the record is trusted, in the last manifest with the event that any process
 * emitted; NULL: none. It is valid until on_forget is called with *manifest_id, which is never 0.
 */
const struct etw_schema *inband_manifests_find(struct etw_inband_manifests *inband,
					       const struct etw_record *record, bool trusted,
					       uint32_t *manifest_id);

#endif
