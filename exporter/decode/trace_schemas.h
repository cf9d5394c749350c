/* SPDX-License-Identifier: MIT */
/*
 * What a recording tells about its own providers: EventSource manifests (in chunks), EventInfo and
 * EventMapInfo blobs, provider traits.
 *
 * Fed with every record in any order before anything is decoded, because such records often come
 * last. Owned by one consumer; bounded against hostile recordings (docs/etl-format.md section 18).
 */
#ifndef DECODE_TRACE_SCHEMAS_H
#define DECODE_TRACE_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "decode/schema.h"
#include "source/event_record.h"

struct trace_schemas; /* opaque */

struct trace_schemas_counts {
	uint64_t manifests;   /* put together; one that arrives again counts again */
	uint64_t event_infos; /* distinct descriptions */
	uint64_t maps;        /* distinct maps */
};

struct trace_schemas *trace_schemas_new(struct error *err);
void trace_schemas_free(struct trace_schemas *schemas);

void trace_schemas_look(struct trace_schemas *schemas, const struct event_record *record);

/*
 * The part of it for records that come only once, before anything of them is asked for: the name of
 * the provider in its traits, the first one told. No schema comes or goes by it.
 */
void trace_schemas_look_at_name(struct trace_schemas *schemas, const struct event_record *record);

/* A name that somebody claims for a provider: the first one is kept. */
void trace_schemas_claim_name(struct trace_schemas *schemas, const struct guid *provider,
			      const char *name);

/* After the last record. */
void trace_schemas_finish(struct trace_schemas *schemas);

/* The name that a manifest of the trace tells, else EventInfo; NULL: none does. */
const char *trace_schemas_provider_name(const struct trace_schemas *schemas,
					const struct guid *provider);

/* The name that was claimed first; NULL: none was. */
const char *trace_schemas_claimed_name(const struct trace_schemas *schemas,
				       const struct guid *provider);

/* How many names have become known: who found none asks again when it has changed. */
uint64_t trace_schemas_name_count(const struct trace_schemas *schemas);

/*
 * The schema of an event by the manifest of its provider, else by a description; of a classic event
 * by the description of its class. NULL: the trace tells none. To be asked after
 * trace_schemas_finish(), when no schema goes away any more.
 */
const struct schema *trace_schemas_find(const struct trace_schemas *schemas,
					const struct event_record *record);

void trace_schemas_count(const struct trace_schemas *schemas, struct trace_schemas_counts *counts);

#endif
