/* SPDX-License-Identifier: MIT */
/*
 * Manifests that events bring along while other events are decoded: those of EventSources in a live
 * session, or in a recording that can be read only once.
 *
 * Kept per provider and process: a manifest says something about the events of the process that
 * told it, and nothing about anybody else's. Processes that tell the same text share what is made
 * of it, because every .NET process tells the same few.
 *
 * Anybody can tell, so everything is bounded: in number and bytes of all, in number for each
 * process, and in how often a process may tell something new; beyond that its events stay without
 * schema, and it is counted. One consumer's; the statistics are for any thread.
 *
 * Source: etl-format.md section 11.
 */
#ifndef DECODE_TOLD_SCHEMAS_H
#define DECODE_TOLD_SCHEMAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "decode/schema.h"
#include "source/event_record.h"

enum {
	TOLD_MOST = 256,                     /* different texts that are kept */
	TOLD_MOST_OF_PROCESS = 16,           /* of them, told first by one process */
	TOLD_SIZE_MOST = 1 << 20,            /* of one, and of what is made of it */
	TOLD_BYTES_MOST = 64 << 20,          /* of all */
	TOLD_KEPT_100NS = 10 * 10 * 1000000, /* before its process may have it replaced */
};

struct told_schemas; /* opaque */

/*
 * on_forget: schemas of this teller are about to go away, and whoever holds any must let go now;
 * NULL: nobody does.
 */
struct told_schemas *told_schemas_new(void (*on_forget)(void *context, uint32_t teller),
				      void *context, struct error *err);
void told_schemas_free(struct told_schemas *told); /* without on_forget */

/*
 * Shows a record, which may be a chunk of a manifest. When it completes one: the name that it
 * claims for the record's provider, valid until the next call; else NULL.
 */
const char *told_schemas_look(struct told_schemas *told, const struct event_record *record);

/* False while nobody has told anything: then no event has a schema here. */
bool told_schemas_any(const struct told_schemas *told);

/*
 * The schema of an event by the last manifest that its process told for its provider; NULL: none.
 * It is valid until on_forget is called with *teller, a number other than 0 that stands for the
 * manifest.
 */
const struct schema *told_schemas_find(struct told_schemas *told, const struct event_record *record,
				       uint32_t *teller);

/* Any thread. */
struct told_statistics {
	uint64_t entries; /* manifests that are kept */
	uint64_t dropped; /* manifests that made room, or found none */
};
void told_schemas_statistics(const struct told_schemas *told, struct told_statistics *statistics);

#endif
