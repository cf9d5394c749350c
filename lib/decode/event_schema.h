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
 * In a recording that can be read only once, a manifest is known only after the records that
 * contain it. The order is the same: the manifest of the event's own process first, then the newest
 * one.
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

#include <etw/describe.h>

/* What the operating system (TDH) answers in addition to a schema. */
struct etw_system_answer {
	bool later;                /* not queried yet, because queries are limited: try again */
	const char *provider_name; /* NULL: none */
};

/*
 * Returns the manifest_id that etw_event_schema() would set in its terms, for a record whose event
 * class is known already. The call is cheap if there are no in-band manifests.
 */
uint32_t event_schema_manifest_id(const struct etw_schema_origins *origins,
				  const struct etw_record *record);

/* Returns whether an in-band manifest may override this schema. The schema
 * itself must not be from an in-band manifest. */
bool event_schema_overridable(const struct etw_schema_origins *origins,
			      const struct etw_record *record, const struct etw_schema *schema);

/*
 * ---- the operating system (TDH, the Trace Data Helper) ----
 *
 * Schemas of registered manifests and MOF classes, and names of registered providers. TDH is the
 * last origin that events cannot influence. Its answers are converted to struct etw_schema, which
 * our own decoder reads. Only one consumer thread may use a struct etw_tdh; it has no lock. On
 * other systems than Windows all look-ups find nothing.
 *
 * The list of registered providers is read once. The name of a provider that is registered later
 * becomes known with the first schema of one of its events.
 *
 * Sources: "TdhGetEventInformation function", "TdhGetEventMapInformation function", Microsoft
 * Learn.
 */

enum {
	TDH_SCHEMAS_MOST = 1 << 14,
	TDH_BYTES_MOST = 64 << 20,
	/*
	 * Limits of failed queries for each second: a query of an event that TDH does not know
	 * takes about 100 µs (not measured), and a process can invent any number of ids. Beyond the
	 * limit for one process or for all processes, new event classes are queried later. Each
	 * process may always make a few failed queries, so that one process cannot delay others.
	 */
	TDH_VAIN_MOST = 256,
	TDH_VAIN_MOST_OF_ALL = 1024,
	TDH_VAIN_ALWAYS = 4,
};

/* ---- TraceLogging ---- */

/*
 * TraceLogging: events that contain their own layout in an extended item.
 *
 * Sources: TraceLoggingProvider.h of the Windows SDK; docs/etl-format.md section 10.
 */

/* Returns a hash of the metadata, which identifies the event class; 0 if the record is no
 * TraceLogging event. */
uint64_t tracelogging_hash(const struct etw_record *record, uint64_t seed);

/*
 * A cache of schemas; its key is the content of the metadata. It is bounded: when it is full, new
 * metadata gets no schema. Only one consumer thread may use it; it has no lock.
 */
struct etw_tracelogging_cache; /* opaque */

#endif
