/* SPDX-License-Identifier: MIT */
/*
 * Collectors as they ship, at work on tables of kernel events: what each family must show.
 */
#ifndef SUPPORT_SHIPPED_COLLECTORS_H
#define SUPPORT_SHIPPED_COLLECTORS_H

#include <stdint.h>

#include "tests/support/rule_run.h"

enum {
	SHIPPED_SHARD = 8,  /* runs from the start: "writer", with a thread of ten times its id */
	SHIPPED_OTHER = 12, /* "other" */
	SHIPPED_NO_PROCESS = -1,
	SHIPPED_FIELDS = 8,
	/* Ticks of the raw times, which begin at 0 with the first event of a table. */
	SHIPPED_MS = RUN_FREQUENCY / 1000,
	SHIPPED_START = 1000000000, /* raw time of 0 */
};

/* Fields of the record itself. */
#define RECORD_CPU "(processor)"

struct built_event {
	const char *event; /* "DiskIo/Read"; NULL ends a table */
	int64_t time;
	uint32_t process; /* of the header */
	struct {
		const char *name;
		uint64_t value;
		const char *text; /* NULL: the value */
	} fields[SHIPPED_FIELDS];
};

/* Checks that each line stands on the page; one that begins with '!' says how none may begin. NULL
 * ends the lines. */
void check_shipped(const char *collector, const struct built_event *events,
		   const char *const *lines);

#endif
