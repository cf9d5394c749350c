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

#include <etw/describe.h>

#include "base/error.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"

/* A hash of the metadata, which identifies the event class; 0: not a TraceLogging event. */
uint64_t tracelogging_hash(const struct etw_record *record, uint64_t seed);

/*
 * Schemas by the content of the metadata that they were made from. It is bounded: if it is full,
 * new metadata gets no schema. One consumer's: no lock.
 */
struct etw_tracelogging_cache; /* opaque */

#endif
