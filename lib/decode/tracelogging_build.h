/* SPDX-License-Identifier: MIT */
/* Makes the layout of a TraceLogging event from its values: docs/etl-format.md section 10. */
#ifndef LIB_DECODE_TRACELOGGING_BUILD_H
#define LIB_DECODE_TRACELOGGING_BUILD_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json_read.h"
#include "lib/source/payload.h"

/*
 * Adds the metadata of an event with this name whose fields have the types that the values suggest.
 * False, with a sentence that names the field, for values that no type has: lists of lists, more
 * than 127 members of one structure, more than ETW_SCHEMA_FIELDS_MOST fields, names with a NUL.
 */
bool etw_tracelogging_build(const struct etw_json_value *event, const struct etw_json_value *fields,
			    struct etw_payload *metadata, struct etw_error *err);

#endif
