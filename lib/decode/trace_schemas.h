/* SPDX-License-Identifier: MIT */
/*
 * What a recording contains about its own providers: EventSource manifests (in chunks), EventInfo
 * and EventMapInfo structures, provider traits.
 *
 * The first pass shows it every record, in any order, before any event is decoded, because such
 * records are often the last ones. It belongs to one consumer, except for the statistics, and is
 * bounded against hostile recordings (docs/etl-format.md section 18).
 */
#ifndef LIB_DECODE_TRACE_SCHEMAS_H
#define LIB_DECODE_TRACE_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/describe.h>

#include "base/error.h"
#include "base/guid.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

struct etw_trace_schemas; /* opaque */

/* The name in a manifest of the recording, else in EventInfo; NULL: none. */
const char *trace_schemas_provider_name(const struct etw_trace_schemas *schemas,
					const struct etw_guid *provider);

/* The name that was claimed first; NULL: none. */
const char *trace_schemas_claimed_name(const struct etw_trace_schemas *schemas,
				       const struct etw_guid *provider);

/* How many names have become known. When it has changed, a name may be found that was not before.
 */
uint64_t trace_schemas_name_count(const struct etw_trace_schemas *schemas);

/*
 * The schema of an event from the manifest of its process for its provider, else from the newest
 * manifest of the provider that has the event, else from a description; of a classic event from the
 * description of its class. NULL: the recording has none. Call it after etw_trace_schemas_finish();
 * from then on schemas are not freed any more.
 *
 * If the events of other processes may have another schema, *manifest_id becomes the same number
 * for all events that have this one, at most TRACE_MANIFESTS_MOST; else 0. It may be NULL.
 */
const struct etw_schema *trace_schemas_find(const struct etw_trace_schemas *schemas,
					    const struct etw_record *record, uint32_t *manifest_id);

/* Whether trace_schemas_find() gives a number other than 0 for any event. */
bool trace_schemas_differ(const struct etw_trace_schemas *schemas);

#endif
