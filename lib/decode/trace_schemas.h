/* SPDX-License-Identifier: MIT */
/*
 * What a recording contains about its own providers: EventSource manifests (in chunks), EventInfo
 * and EventMapInfo structures, provider traits.
 *
 * The first pass passes every record to it, in any order, before any event is decoded, because the
 * describing records are often the last ones. Only one consumer thread may use the struct; any
 * thread may read the statistics. Its size is bounded against hostile recordings
 * (docs/etl-format.md section 18).
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

/*
 * For records that can be read only once, before they are decoded: takes only the name of the
 * provider from its traits; the first name is kept. Schemas are not changed.
 */
void trace_schemas_look_at_name(struct etw_trace_schemas *schemas, const struct etw_record *record);

/* An event or the operating system claims a name for a provider: the first name is kept. */
void trace_schemas_claim_name(struct etw_trace_schemas *schemas, const struct etw_guid *provider,
			      const char *name);

/* Returns the provider's name in a manifest of the recording, else in an EventInfo record; NULL if
 * neither has one. */
const char *trace_schemas_provider_name(const struct etw_trace_schemas *schemas,
					const struct etw_guid *provider);

/* Returns the first name that an event claimed for the provider; NULL if there is none. */
const char *trace_schemas_claimed_name(const struct etw_trace_schemas *schemas,
				       const struct etw_guid *provider);

/* Returns how many names have become known. A changed number means that a look-up that found no
 * name before may find one now. */
uint64_t trace_schemas_name_count(const struct etw_trace_schemas *schemas);

/*
 * Finds the schema of an event in the manifest that its process announced, else in the newest
 * manifest of the provider that has the event, else in an EventInfo description. A classic event
 * gets the description of its class. Returns NULL if the recording has none. Call it after
 * etw_trace_schemas_finish(); from then on no schema is freed.
 *
 * If the same event of another process may have another schema, *manifest_id becomes a number, at
 * most TRACE_MANIFESTS_MOST, that is the same for all events with this schema; otherwise it becomes
 * 0. manifest_id may be NULL.
 */
const struct etw_schema *trace_schemas_find(const struct etw_trace_schemas *schemas,
					    const struct etw_record *record, uint32_t *manifest_id);

/* Returns whether trace_schemas_find() sets a manifest_id other than 0 for any event. */
bool trace_schemas_differ(const struct etw_trace_schemas *schemas);

#endif
