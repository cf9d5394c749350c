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
 * Source: docs/etl-format.md section 11.
 */
#ifndef DECODE_INBAND_MANIFESTS_H
#define DECODE_INBAND_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "decode/schema.h"
#include "source/event_record.h"

enum {
	INBAND_MOST = 256,                     /* different texts that are kept */
	INBAND_MOST_OF_PROCESS = 16,           /* of them, told first by one process */
	INBAND_SIZE_MOST = 1 << 20,            /* of one, and of what is made of it */
	INBAND_BYTES_MOST = 64 << 20,          /* of all */
	INBAND_KEPT_100NS = 10 * 10 * 1000000, /* before its process may have it replaced */
};

struct inband_manifests; /* opaque */

/*
 * on_forget: schemas of this teller are about to go away, and whoever holds any must let go now;
 * NULL: nobody does.
 */
struct inband_manifests *inband_manifests_new(void (*on_forget)(void *context,
								uint32_t manifest_id),
					      void *context, struct error *err);
void inband_manifests_free(struct inband_manifests *inband); /* without on_forget */

/*
 * Shows a record, which may be a chunk of a manifest. When it completes one: the name that it
 * claims for the record's provider, valid until the next call; else NULL.
 */
const char *inband_manifests_add(struct inband_manifests *inband,
				 const struct event_record *record);

/* False while nobody has told anything: then no event has a schema here. */
bool inband_manifests_any(const struct inband_manifests *inband);

/*
 * The schema of an event by the last manifest that its process told for its provider; NULL: none.
 * It is valid until on_forget is called with *teller, a number other than 0 that stands for the
 * manifest.
 */
const struct schema *inband_manifests_find(struct inband_manifests *inband,
					   const struct event_record *record,
					   uint32_t *manifest_id);

/* Any thread. */
struct inband_statistics {
	uint64_t entries; /* manifests that are kept */
	uint64_t dropped; /* manifests that made room, or found none */
};
void inband_manifests_statistics(const struct inband_manifests *inband,
				 struct inband_statistics *statistics);

#endif
