/* SPDX-License-Identifier: MIT */
/*
 * One event as a line of JSON: what its record says, and its payload decoded as far as the
 * schemas at hand allow.
 */
#ifndef TOOL_EVENT_JSON_H
#define TOOL_EVENT_JSON_H

#include "base/text.h"
#include "decode/schema_origins.h"
#include "decode/tracelogging.h"
#include "source/event_record.h"

/* Adds the line, newline included. origins: those of a whole recording. */
void event_json_add(struct text *out, const struct event_record *record,
		    const struct schema_origins *origins, struct tracelogging_cache *tracelogging);

/* Where its layout comes from, as `decoded_by` says it. */
const char *event_json_origin(const struct schema *schema);

#endif
