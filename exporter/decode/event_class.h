/* SPDX-License-Identifier: MIT */
/*
 * What is worked out about a kind of events, of its first record and of what is known by then. Only
 * event_table.c calls these.
 */
#ifndef DECODE_EVENT_CLASS_H
#define DECODE_EVENT_CLASS_H

#include <stdbool.h>

#include "decode/event_table.h"
#include "decode/schema_origins.h"
#include "decode/tracelogging.h"
#include "source/event_record.h"

/* What is known may come to be too little, or to be gone. */
enum event_class_stale {
	STALE_NAME = 1,   /* nobody knows the name of the provider: somebody may tell it */
	STALE_SYSTEM = 2, /* the operating system was not asked, but will be */
	STALE_SCHEMA = 4, /* the schema has gone */
};

/* Everything but what the layers above fill in. False without memory. */
bool event_class_resolve(const struct schema_origins *origins,
			 struct tracelogging_cache *tracelogging, const struct event_record *record,
			 struct event_class *class);

/*
 * Whether event_class_resolve() would say something else about a kind whose `again` is not 0; when
 * not, it need not be asked before there is something new.
 */
bool event_class_changed(const struct schema_origins *origins,
			 struct tracelogging_cache *tracelogging, const struct event_record *record,
			 struct event_class *class);

void event_class_free_names(struct event_class *class); /* frees them */

#endif
