/* SPDX-License-Identifier: MIT */
/*
 * Finds the schema of an event and the name of its provider.
 *
 * An event with its own layout (TraceLogging, EventWriteString) and an event of a kernel class need
 * no other origin. For the others, the first origin that has the event is used:
 *
 * a recording              a live session
 * -----------------------  -------------------------------------------------
 * the manifest of the      configured manifests
 *   event's process, else
 *   the newest of all that
 *   has the event
 * its EventInfo            built-in manifests
 * configured manifests     the operating system (TDH)
 * built-in manifests       the in-band manifest of the event's process for the provider
 *
 * If none of them has it, an older version of the event in the configured or built-in manifests is
 * used.
 *
 * In a recording that can be read only once, a manifest is known from its place in the recording
 * on. Otherwise it is the same: its own process first, then the newest one.
 *
 * A recording is trusted to describe itself (docs/etl-format.md section 13). A live session is not:
 * any process may register any enabled GUID and write any event under it. So the in-band manifest
 * of a process decodes only the events of this process, and only if no other origin has a schema.
 * The name that events claim for a provider is used when no other name is known; the first such
 * name wins.
 */
#ifndef LIB_DECODE_EVENT_SCHEMA_H
#define LIB_DECODE_EVENT_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/manifest/load.h"
#include "lib/decode/schema.h"
#include "lib/decode/trace_schemas.h"
#include "lib/decode/tracelogging.h"
#include "lib/source/event_record.h"

/* What the operating system answers in addition to a schema. */
struct etw_system_answer {
	bool later;                /* not queried yet, because queries are limited; try again */
	const char *provider_name; /* NULL: none */
};

/* Queries of the operating system; all NULL where there is none. */
struct etw_schema_system {
	void *context;
	/*
	 * The schema of an event that is neither TraceLogging nor of a kernel class; NULL: unknown.
	 * It and what *answer points to are valid as long as the context. Called on the consumer
	 * thread, once for each event class, and again for each event of it while *answer says
	 * `later`.
	 */
	const struct etw_schema *(*schema)(void *context, const struct etw_record *record,
					   struct etw_system_answer *answer);
	/* The name of a provider that was registered at the start; NULL: none. Valid as long. */
	const char *(*provider_name)(void *context, const struct etw_guid *provider);
	/*
	 * Hands what the system knows about the event to take(), in the form in which recordings
	 * have it (lib/decode/event_info.h): the payload of an EventInfo record, and those of the
	 * EventMapInfo records that it refers to. It queries the system each time.
	 */
	void (*describe)(void *context, const struct etw_record *record,
			 void (*take)(void *context, uint8_t opcode, const void *bytes,
				      size_t size),
			 void *take_context);
};

/* Everything is borrowed; NULL: the origin does not exist. Zero-initialised, only the layouts in
 * events and the kernel's classes are used. */
struct etw_schema_origins {
	bool live;
	struct etw_trace_schemas *trace; /* of the records before any event is decoded; live: names
					only, also those in answers of the system */
	struct etw_inband_manifests *inband; /* that arrive while other events are decoded */
	const struct etw_manifest_set *configured;
	const struct etw_manifest_set *builtin;
	bool builtin_names; /* use names of well-known providers; not to show a recording */
	struct etw_schema_system system; /* live only */
};

struct etw_schema_terms {
	/* Not 0: events of other processes may have another schema. One that is above
	 * TRACE_MANIFESTS_MOST is valid as long as inband_manifests_find() says. */
	uint32_t manifest_id;
	bool later; /* the system was not queried; a later event may get a schema */
	bool older; /* it is that of an earlier version of the event */
};

/*
 * Returns NULL if no layout is known. The schema is valid as long as its origin. origins may be
 * NULL; terms may be NULL if there are neither in-band manifests nor queries of the system.
 */
const struct etw_schema *etw_event_schema(const struct etw_schema_origins *origins,
					  struct etw_tracelogging_cache *tracelogging,
					  const struct etw_record *record,
					  struct etw_schema_terms *terms);

/*
 * The manifest_id of the terms, for a record of an event class of which other records were seen. It
 * costs little if there is no such manifest.
 */
uint32_t event_schema_manifest_id(const struct etw_schema_origins *origins,
				  const struct etw_record *record);

/* Whether an in-band manifest may override this schema, which is not from one. */
bool event_schema_overridable(const struct etw_schema_origins *origins,
			      const struct etw_record *record, const struct etw_schema *schema);

/*
 * The name of a provider, kernel classes aside; NULL: unknown. Call it after etw_event_schema() for
 * an event of the provider, which may have given the name. A name does not change afterwards,
 * unless etw_trace_schemas_look() adds one.
 */
const char *etw_event_provider_name(const struct etw_schema_origins *origins,
				    const struct etw_guid *provider);

/*
 * The schema that an event has its name from: its own, which may be NULL; of an event whose payload
 * is a text that of a manifest, if there is one with its id.
 */
const struct etw_schema *event_schema_naming(const struct etw_schema_origins *origins,
					     const struct etw_record *record,
					     const struct etw_schema *schema);

/*
 * Appends the event name that rules and labels use for a schema that is not of the kernel: the name
 * of a TraceLogging event; otherwise "Task/Opcode" or the symbol in the manifest, without "win:"
 * and without the opcode "win:Info", which has no meaning.
 */
void etw_event_schema_name(const struct etw_schema *schema, struct etw_text *out);

#endif
