/* SPDX-License-Identifier: MIT */
/*
 * Which schema an event is decoded by, of all that are at hand; schema_origins.h tells who wins.
 */
#ifndef DECODE_EVENT_SCHEMA_H
#define DECODE_EVENT_SCHEMA_H

#include "base/text.h"
#include "decode/schema.h"
#include "decode/schema_origins.h"
#include "decode/tracelogging.h"
#include "source/event_record.h"

struct schema_terms {
	uint32_t manifest_id; /* other than 0: it stays as inband_manifests_find() says */
	bool later;           /* the system was not asked: for another event it may know better */
};

/*
 * origins: NULL for none. NULL: no layout known. The schema stays as long as where it comes from.
 * terms may be NULL when no events tell schemas and no system is asked.
 */
const struct schema *event_schema(const struct schema_origins *origins,
				  struct tracelogging_cache *tracelogging,
				  const struct event_record *record, struct schema_terms *terms);

/* Whether some process may have told a schema that is better than this one, which nobody told. */
bool event_schema_overridable(const struct schema_origins *origins,
			      const struct event_record *record, const struct schema *schema);

/*
 * What a provider is called, kernel classes aside; NULL: nobody says. After event_schema() for an
 * event of it, which may have told. Once there is a name it stays, as long as trace_schemas_look()
 * tells none.
 */
const char *event_provider_name(const struct schema_origins *origins, const struct guid *provider);

/*
 * Adds the name by which rules and labels know events of a schema from outside: that of a
 * TraceLogging event, "Task/Opcode" or the symbol of a manifest's, without "win:" and without an
 * opcode that says nothing ("win:Info").
 */
void event_schema_name(const struct schema *schema, struct text *out);

#endif
