/* SPDX-License-Identifier: MIT */
/*
 * TraceLogging: events that contain their own layout in an extended item.
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

/* Returns a hash of the metadata, which identifies the event class; 0 if the record is no
 * TraceLogging event. */
uint64_t tracelogging_hash(const struct etw_record *record, uint64_t seed);

/*
 * A cache of schemas; its key is the content of the metadata. It is bounded: when it is full, new
 * metadata gets no schema. Only one consumer thread may use it; it has no lock.
 */
struct etw_tracelogging_cache; /* opaque */

#endif
