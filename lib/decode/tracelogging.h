/* SPDX-License-Identifier: MIT */
/*
 * TraceLogging: events with their own layout, in an extended item.
 *
 * Sources: TraceLoggingProvider.h of the Windows SDK; docs/etl-format.md section 10.
 */
#ifndef LIB_DECODE_TRACELOGGING_H
#define LIB_DECODE_TRACELOGGING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

/* Finds the metadata of the event; false: not a TraceLogging event. */
bool etw_tracelogging_metadata(const struct etw_record *record, struct etw_extended_item *metadata);

/* A hash of the metadata, which identifies the event class; 0: not a TraceLogging event. */
uint64_t tracelogging_hash(const struct etw_record *record, uint64_t seed);

/*
 * Schemas by the content of the metadata that they were made from. It is bounded: if it is full,
 * new metadata gets no schema. One consumer's: no lock.
 */
struct etw_tracelogging_cache; /* opaque */

struct etw_tracelogging_cache *etw_tracelogging_cache_new(struct etw_error *err);
void etw_tracelogging_cache_free(struct etw_tracelogging_cache *cache);

/* Frees all schemas. The caller must no longer use any of them. */
void etw_tracelogging_cache_clear(struct etw_tracelogging_cache *cache);

/* Whether new metadata would get no schema. */
bool etw_tracelogging_cache_full(const struct etw_tracelogging_cache *cache);

/*
 * The schema of events with this metadata, valid until the cache is cleared or freed. NULL if the
 * metadata is invalid, the cache is full, or there is no memory.
 */
const struct etw_schema *etw_tracelogging_schema(struct etw_tracelogging_cache *cache,
						 const struct etw_extended_item *metadata);

#endif
