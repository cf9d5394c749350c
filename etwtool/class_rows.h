/* SPDX-License-Identifier: MIT */
/*
 * The events of a recording as people distinguish them: by provider and event. All versions and
 * pointer sizes of an event are one row.
 */
#ifndef ETWTOOL_CLASS_ROWS_H
#define ETWTOOL_CLASS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>

#include "base/map.h"

struct class_row {
	char *provider; /* label value; owned */
	char *name; /* `event` of a rule for such events: "DiskIo/Read", "Provider/Name"; owned */
	const char *event; /* the part of the name that distinguishes events of the provider */
	struct etw_guid guid;
	uint16_t number; /* id; of classic events the opcode */
	bool classic;
	uint8_t kernel_class; /* enum etw_kernel_class */
	uint8_t record_type;  /* enum etw_record_type of the first record */
	uint64_t records;
	uint64_t of_no_process;    /* of these; counted by who calls class_rows_count() */
	uint64_t provider_records; /* of all rows of the provider; after class_rows_sort() */
	uint64_t versions[4];      /* bit v % 64 of word v / 64: version v */
	/* The one with most fields, valid as long as the event classes; NULL: none is known. */
	const struct etw_schema *schema;
};

enum { CLASS_ROWS_MOST = 1 << 16 };

/* Zero-initialise it. */
struct class_rows {
	struct class_row *rows; /* owned */
	size_t count, capacity;
	struct map by_key;   /* hash of what distinguishes rows -> index + 1 */
	struct map by_class; /* struct etw_event_class * -> index + 1; 0: no room */
	uint64_t refused;    /* records of event classes for which there was no room */
};

/* rows: a struct class_rows. An on_class of recordings (recording.h). */
void class_rows_class(void *rows, const struct etw_event_class *class);
/* The row that counted the record; NULL: there is no room for its event class. */
struct class_row *class_rows_count(struct class_rows *rows, const struct etw_event_class *class);

/*
 * Puts providers with most records first, and likewise the events of each. Nothing can be counted
 * afterwards.
 */
void class_rows_sort(struct class_rows *rows);
/* The first row behind those of a provider; after class_rows_sort(). */
size_t class_rows_provider_end(const struct class_rows *rows, size_t first);
void class_rows_done(struct class_rows *rows);

/* The next version of the row at or behind `version`; 256: there is none. */
unsigned class_row_version(const struct class_row *row, unsigned version);

#endif
