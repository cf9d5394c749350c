/* SPDX-License-Identifier: MIT */
/*
 * Which schema an event is decoded by, of all that are at hand.
 *
 * Source: etl-format.md section 13.
 */
#ifndef DECODE_EVENT_SCHEMA_H
#define DECODE_EVENT_SCHEMA_H

#include "base/text.h"
#include "decode/schema.h"
#include "decode/trace_schemas.h"
#include "decode/tracelogging.h"
#include "source/event_record.h"

/*
 * trace: what the recording tells; NULL for none. NULL: no layout known. The schema stays as long
 * as where it comes from.
 */
const struct schema *event_schema(const struct trace_schemas *trace,
				  struct tracelogging_cache *tracelogging,
				  const struct event_record *record);

/*
 * Adds the name by which rules and labels know events of a schema from outside: that of a
 * TraceLogging event, "Task/Opcode" or the symbol of a manifest's, without "win:" and without an
 * opcode that says nothing ("win:Info").
 */
void event_schema_name(const struct schema *schema, struct text *out);

#endif
