/* SPDX-License-Identifier: MIT */
/*
 * One event as a line of JSON: what its record says, and its payload decoded as far as the
 * recording and the kernel's classes allow.
 */
#ifndef TOOL_EVENT_JSON_H
#define TOOL_EVENT_JSON_H

#include "base/text.h"
#include "decode/trace_schemas.h"
#include "decode/tracelogging.h"
#include "source/event_record.h"

/* Adds the line, newline included. schemas: of the whole recording. */
void event_json_add(struct text *out, const struct event_record *record,
		    const struct trace_schemas *schemas, struct tracelogging_cache *tracelogging);

#endif
