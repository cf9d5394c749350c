/* SPDX-License-Identifier: MIT */
/*
 * Visits every record of a recording with its schema, which is found as etwtool dump does.
 */
#ifndef SUPPORT_EACH_EVENT_H
#define SUPPORT_EACH_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/decode/event_schema.h"
#include "lib/decode/schema.h"
#include "lib/etl/record.h"
#include "lib/source/event_record.h"

/* Valid during the call. */
struct seen_event {
	const struct etw_record *record;
	const struct etw_schema *schema; /* NULL: unknown */
	const uint8_t *bytes;            /* the whole record with its header, without padding */
	size_t size;
	/* How it was decoded. */
	const struct etl_format *format;
	const struct etw_schema_origins *origins;
	struct etw_tracelogging_cache *tracelogging;
	/* Enough records of this event with a payload of this size came before, if the test does
	 * not try all of them (thorough.h). */
	bool seen_often;
};

typedef void each_event(void *context, const struct seen_event *event);

/* Visits the records in file order. Fails the test if the recording cannot be read. */
void for_each_event(const char *path, each_event *visit, void *context);

/* Visits the path of the sample, then those of the recordings in a folder, which may be missing. */
void for_each_recording(const char *folder, void (*visit)(const char *path));

#endif
