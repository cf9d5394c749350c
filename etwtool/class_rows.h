/* SPDX-License-Identifier: MIT */
/*
 * Counts the events of a recording as people distinguish them: by provider and event. All versions
 * and pointer sizes of an event share one row.
 */
#ifndef ETWTOOL_CLASS_ROWS_H
#define ETWTOOL_CLASS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>

#include "base/map.h"

struct class_row {
	char *provider; /* value of the provider label; owned */
	char *name;     /* what `event` of a rule must say: "DiskIo/Read", "Provider/Name"; owned */
	const char *event; /* points to the part of the name that follows the provider or class */
	struct etw_guid guid;
	uint16_t number; /* event id; opcode of a classic event */
	bool classic;
	uint8_t kernel_class; /* enum etw_kernel_class */
	uint8_t record_type;  /* enum etw_record_type of the first record */
	uint64_t records;
	/*
	 * how many of the records belong to no process; the caller of class_rows_count() counts
	 * them
	 */
	uint64_t of_no_process;
	/* records of all rows of this provider; class_rows_sort() sets it */
	uint64_t provider_records;
	uint64_t versions[4]; /* bit v % 64 of word v / 64 stands for version v */
	/*
	 * The schema with most fields, valid as long as the event classes; NULL: no schema is
	 * known.
	 */
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

/* An on_class of recordings (recording.h). rows is a struct class_rows. */
void class_rows_class(void *rows, const struct etw_event_class *class);
/* Counts the record and returns its row. Returns NULL if there was no room for its event class. */
struct class_row *class_rows_count(struct class_rows *rows, const struct etw_event_class *class);

/*
 * Sorts by number of records, falling: first the providers, then the events of each provider.
 * Nothing can be counted afterwards.
 */
void class_rows_sort(struct class_rows *rows);
/*
 * Returns the index after the last row of the provider whose first row is `first`. Call it after
 * class_rows_sort().
 */
size_t class_rows_provider_end(const struct class_rows *rows, size_t first);
void class_rows_done(struct class_rows *rows);

/* Returns the first version of the row that is at least `version`; 256 if there is none. */
unsigned class_row_version(const struct class_row *row, unsigned version);

#endif
