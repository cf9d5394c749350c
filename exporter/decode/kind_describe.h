/* SPDX-License-Identifier: MIT */
/*
 * What is worked out about a kind of events, of its first record and of what is known by then. Only
 * kinds.c calls these.
 */
#ifndef DECODE_KIND_DESCRIBE_H
#define DECODE_KIND_DESCRIBE_H

#include <stdbool.h>

#include "decode/kinds.h"
#include "decode/schema_origins.h"
#include "decode/tracelogging.h"
#include "source/event_record.h"

/* What is known may come to be too little, or to be gone. */
enum kind_again {
	AGAIN_NAME = 1,   /* nobody knows the name of the provider: somebody may tell it */
	AGAIN_SYSTEM = 2, /* the operating system was not asked, but will be */
	AGAIN_SCHEMA = 4, /* the schema has gone */
};

/* Everything but what the layers above fill in. False without memory. */
bool kind_describe(const struct schema_origins *origins, struct tracelogging_cache *tracelogging,
		   const struct event_record *record, struct event_kind *kind);

/*
 * Whether kind_describe() would say something else about a kind whose `again` is not 0; when not,
 * it need not be asked before there is something new.
 */
bool kind_has_news(const struct schema_origins *origins, struct tracelogging_cache *tracelogging,
		   const struct event_record *record, struct event_kind *kind);

void kind_forget_names(struct event_kind *kind); /* frees them */

#endif
