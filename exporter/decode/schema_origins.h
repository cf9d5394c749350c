/* SPDX-License-Identifier: MIT */
/*
 * The origins of schemas and provider names, and their order.
 *
 * An event with its own layout (TraceLogging) and an event of a kernel class need no other origin.
 * For the others, the first origin that has the event is used:
 *
 * a recording              a live session
 * -----------------------  -------------------------------------------------
 * its manifests            configured manifests
 * its EventInfo            built-in manifests
 * configured manifests     the operating system (TDH)
 * built-in manifests       the in-band manifest of the event's process for the provider
 *
 * If none of them has it, an older version of the event in the configured or built-in manifests is
 * used.
 *
 * In a recording that can be read only once, a manifest is known from its place in the recording
 * on, and it is an in-band manifest of its process as in a live session.
 *
 * A recording is trusted to describe itself (docs/etl-format.md section 13). A live session is not:
 * any process may register any enabled GUID and write any event under it. So the in-band manifest
 * of a process decodes only the events of this process, and only if no other origin has a schema.
 * The name that events claim for a provider is used when no other name is known; the first such
 * name wins.
 */
#ifndef DECODE_SCHEMA_ORIGINS_H
#define DECODE_SCHEMA_ORIGINS_H

#include <stdbool.h>

#include "base/guid.h"
#include "decode/inband_manifests.h"
#include "decode/manifest/load.h"
#include "decode/schema.h"
#include "decode/trace_schemas.h"
#include "source/event_record.h"

/* What the operating system answers in addition to a schema. */
struct system_answer {
	bool later;                /* not queried yet, because queries are limited; try again */
	const char *provider_name; /* NULL: none */
};

/* Queries of the operating system; all NULL where there is none. */
struct schema_system {
	void *context;
	/*
	 * The schema of an event that is neither TraceLogging nor of a kernel class; NULL: unknown.
	 * It and what *answer points to are valid as long as the context. Called on the consumer
	 * thread, once for each event class, and again for each event of it while *answer says
	 * `later`.
	 */
	const struct schema *(*schema)(void *context, const struct event_record *record,
				       struct system_answer *answer);
	/* The name of a provider that was registered at the start; NULL: none. Valid as long. */
	const char *(*provider_name)(void *context, const struct guid *provider);
};

/* Everything is borrowed; NULL: the origin does not exist. Zero-initialised, only the layouts in
 * events and the kernel's classes are used. */
struct schema_origins {
	bool live;
	struct trace_schemas *trace;     /* of the records before any event is decoded; live: names
					    only, also those in answers of the system */
	struct inband_manifests *inband; /* that arrive while other events are decoded */
	const struct manifest_set *configured;
	const struct manifest_set *builtin;
	bool builtin_names; /* use names of well-known providers; not to show a recording */
	struct schema_system system; /* live only */
};

#endif
