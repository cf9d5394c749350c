/* SPDX-License-Identifier: MIT */
/*
 * Where schemas and provider names come from, and who wins.
 *
 * An event that carries its own layout (TraceLogging) and an event of a kernel class need nobody
 * else. For the others, the first who knows the event:
 *
 * a recording              a live session
 * -----------------------  -------------------------------------------------
 * its manifests            the configuration's manifests
 * its EventInfo            built-in manifests
 * configuration's          the operating system (TDH)
 * built-in ones            the manifest that the process of the event told for the provider
 *
 * Failing all of them, an older version of the event in the manifests of the configuration or the
 * built-in ones.
 *
 * In a recording that can be read only once, a manifest is known from where it stands, and is its
 * process's as in a live session.
 *
 * A recording is trusted to describe itself (docs/etl-format.md section 13). A live session is not:
 * any process may register any GUID that is enabled and write what it likes under it. So what a
 * process tells decodes its own events alone, and only where nobody else knows better; a name that
 * events claim for a provider serves when no other is known, the first one wins.
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

/* What the operating system said beside a schema. */
struct system_answer {
	bool later;                /* nothing yet: it is asked only so often; ask again */
	const char *provider_name; /* NULL: none */
};

/* What the operating system knows; all NULL where there is none to ask. */
struct schema_system {
	void *context;
	/*
	 * The schema of an event, neither TraceLogging nor a kernel class; NULL: not known. It and
	 * what *answer points to stay as long as the context. The consumer's thread; once for each
	 * kind of event, and for each event of a kind for which *answer says `later`.
	 */
	const struct schema *(*schema)(void *context, const struct event_record *record,
				       struct system_answer *answer);
	/* The name that a provider was registered with at the start; NULL: none. Stays likewise. */
	const char *(*provider_name)(void *context, const struct guid *provider);
};

/* Everything is borrowed; NULL: nothing of that origin. Zero-initialised: nothing but what events
 * carry themselves and the kernel's classes. */
struct schema_origins {
	bool live;
	struct trace_schemas *trace; /* what records told before anything is decoded; live: names
					only, those in answers of the system among them */
	struct inband_manifests *inband; /* what events tell while others are decoded */
	const struct manifest_set *configured;
	const struct manifest_set *builtin;
	bool builtin_names;          /* of well-known providers; not for who shows a recording */
	struct schema_system system; /* live only */
};

#endif
