/* SPDX-License-Identifier: MIT */
/*
 * Finds the schema of an event; schema_origins.h describes the order of the origins.
 */
#ifndef DECODE_EVENT_SCHEMA_H
#define DECODE_EVENT_SCHEMA_H

#include "base/text.h"
#include "decode/schema.h"
#include "decode/schema_origins.h"
#include "decode/tracelogging.h"
#include "source/event_record.h"

struct schema_terms {
	uint32_t manifest_id; /* not 0: valid as long as inband_manifests_find() says */
	bool later;           /* the system was not queried; a later event may get a schema */
};

/*
 * Returns NULL if no layout is known. The schema is valid as long as its origin. origins may be
 * NULL; terms may be NULL if there are neither in-band manifests nor queries of the system.
 */
const struct schema *event_schema(const struct schema_origins *origins,
				  struct tracelogging_cache *tracelogging,
				  const struct event_record *record, struct schema_terms *terms);

/* Whether an in-band manifest may override this schema, which is not from one. */
bool event_schema_overridable(const struct schema_origins *origins,
			      const struct event_record *record, const struct schema *schema);

/*
 * The name of a provider, kernel classes aside; NULL: unknown. Call it after event_schema() for an
 * event of the provider, which may have given the name. A name does not change afterwards, unless
 * trace_schemas_look() adds one.
 */
const char *event_provider_name(const struct schema_origins *origins, const struct guid *provider);

/*
 * Appends the event name that rules and labels use for a schema that is not of the kernel: the name
 * of a TraceLogging event; otherwise "Task/Opcode" or the symbol in the manifest, without "win:"
 * and without the opcode "win:Info", which has no meaning.
 */
void event_schema_name(const struct schema *schema, struct text *out);

#endif
