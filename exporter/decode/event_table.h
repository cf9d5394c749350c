/* SPDX-License-Identifier: MIT */
/*
 * The kinds of events a consumer has met: what is worked out once, when a kind first arrives, and
 * used for every event of it.
 *
 * One look-up per event leads to everything: the layout, the labels, how to attribute, which rules
 * apply. Bounded: a hostile process can make up any number of kinds; beyond the bound a new one
 * takes the place of one that had no event for some time, which is worked out anew when its events
 * come again. What is in use stays.
 *
 * A kind is worked out again as well when there is news: somebody tells the name of its provider,
 * or the operating system, which is asked only so often, has said what it knows.
 *
 * Events that are decoded by what their process tells are a kind apart for each text that is told.
 */
#ifndef DECODE_EVENT_TABLE_H
#define DECODE_EVENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "decode/kernel_class.h"
#include "decode/schema.h"
#include "decode/schema_origins.h"
#include "metrics/registry.h"
#include "source/event_record.h"

struct attribution; /* track/ */
struct plan;        /* rules/ */

struct event_class {
	struct guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint8_t pointer_size;
	bool classic;
	uint8_t record_type;  /* enum record_type of the first record; RECORD_TIMED and above are
				 never decoded */
	uint8_t kernel_class; /* enum kernel_class; KERNEL_NONE for others */
	bool overridable;     /* what a process tells may be better: a kind of its own */
	bool used;            /* by an event, of late; the table's own */
	uint8_t stale;        /* enum event_class_stale: what may come to be worked out again */
	uint64_t names;       /* how many names of providers were known when it was */
	uint32_t manifest_id; /* of the schema, as in inband_manifests.h; 0: nobody */
	const struct schema *schema; /* NULL: no layout known */
	const char *provider_name; /* label value: "Windows Kernel", a provider's name, or the GUID;
				      owned */
	const char *event_name; /* label value: "DiskIo/Read", "DiskIo/99", the name that the schema
				   knows, or the id in decimal; owned */

	/* Filled by the layers above when the kind is new; freed by them through
	 * event_table_each(). */
	struct attribution *attribution;
	struct plan *plan;
	/* The pipeline's cells; NULL: ask each time, and: none. */
	cell *records; /* etw_consumer_events_total of the provider */
	cell *lost;    /* etw_consumer_lost_notifications_total, for the events that tell of loss */
};

struct event_table; /* one consumer's */

/*
 * origins: where provider names and schemas come from, NULL for none; copied, what it points to is
 * borrowed until event_table_free(). The trace's are complete before the first kind is made.
 */
struct event_table *event_table_new(size_t most, const struct schema_origins *origins,
				    struct error *err);
void event_table_free(struct event_table *event_table);

/*
 * The kind of a record. When it was worked out, *added is true and the layers above must fill their
 * parts; parts of before, or of another kind whose struct it is now, stay in place and must be
 * freed or refilled. Good until the next call. NULL without memory.
 */
struct event_class *event_table_find(struct event_table *event_table,
				     const struct event_record *record, bool *added);

/*
 * Lets go of the kinds whose schemas somebody told who is about to be forgotten; release frees what
 * the layers above filled in.
 */
void event_table_drop(struct event_table *event_table, uint32_t manifest_id,
		      void (*release)(void *context, struct event_class *class), void *context);

void event_table_each(struct event_table *event_table,
		      void (*visit)(void *context, struct event_class *class), void *context);

/* For etw_schema_cache_*; the consumer's thread writes, any thread reads. */
struct event_table_statistics {
	uint64_t entries;
	uint64_t hits;
	uint64_t misses;
	uint64_t evictions; /* kinds that made room for others */
};
void event_table_statistics(const struct event_table *event_table,
			    struct event_table_statistics *statistics);

/* Makes the statistics exact, for the consumer at rest: while events flow they may lag by a few
 * thousand look-ups. */
void event_table_publish(struct event_table *event_table);

#endif
