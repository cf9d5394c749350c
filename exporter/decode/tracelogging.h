/* SPDX-License-Identifier: MIT */
/*
 * TraceLogging: events that carry their own layout, in an extended item.
 *
 * Sources: TraceLoggingProvider.h of the Windows SDK; docs/etl-format.md section 10.
 */
#ifndef DECODE_TRACELOGGING_H
#define DECODE_TRACELOGGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "decode/schema.h"
#include "source/event_record.h"

/* The event's metadata; false: not a TraceLogging event. */
bool tracelogging_metadata(const struct event_record *record, struct extended_item *metadata);

/* A hash of the event's metadata, which tells its kind; 0: not a TraceLogging event. */
uint64_t tracelogging_hash(const struct event_record *record, uint64_t seed);

/*
 * Schemas by the content of the metadata they were made of. Bounded: when it is full, metadata that
 * is new gets no schema. One consumer's.
 */
struct tracelogging_cache; /* opaque */

struct tracelogging_cache *tracelogging_cache_new(struct error *err);
void tracelogging_cache_free(struct tracelogging_cache *cache);

/* Forgets all schemas, for somebody who holds none of them any more. */
void tracelogging_cache_clear(struct tracelogging_cache *cache);

/* Whether the next new metadata would get no schema. */
bool tracelogging_cache_full(const struct tracelogging_cache *cache);

/*
 * The schema of an event with this metadata, the cache's until it is cleared or freed. NULL: the
 * metadata makes no sense, the cache is full, or there is no memory.
 */
const struct schema *tracelogging_schema(struct tracelogging_cache *cache,
					 const struct extended_item *metadata);

#endif
