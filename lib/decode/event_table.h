/* SPDX-License-Identifier: MIT */
/*
 * The event table: all event classes that one consumer has met.
 *
 * One look-up per event leads to everything that is known about it. The table is bounded, because a
 * hostile process can invent any number of classes: when it is full, a new class evicts one that
 * had no event for some time, and the evicted class is resolved again when its events return.
 * Classes in use stay.
 *
 * Events that an in-band manifest of their process decodes have one class for each such manifest.
 * In a recording, only events that their manifests describe differently have several classes, one
 * for each layout.
 */
#ifndef LIB_DECODE_EVENT_TABLE_H
#define LIB_DECODE_EVENT_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/kernel.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/guid.h"
#include "lib/decode/event_schema.h"
#include "lib/decode/kernel_class.h"
#include "lib/source/event_record.h"

struct attribution;    /* track/ */
struct compiled_rules; /* rules/ */
struct tap_class;      /* recorder/ */

/* Bits: why a resolved class may have to be resolved again. */
enum event_class_stale {
	STALE_NAME = 1,   /* the provider had no name yet; a later event may announce one */
	STALE_SYSTEM = 2, /* the operating system was not queried yet; queries are limited */
	STALE_SCHEMA = 4, /* the schema was freed */
};

/* Says when etw_event_table_usual() may find the records of a class. */
enum event_class_usual {
	NEVER_USUAL,
	/* Only while there is no in-band manifest, because one may override the schema. */
	USUAL_UNTIL_INBAND,
	ALWAYS_USUAL,
};

struct etw_event_table; /* opaque; one consumer thread uses it */

#endif
