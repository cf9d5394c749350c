/* SPDX-License-Identifier: MIT */
/*
 * The fields that stand in no payload: they come from the record or from what the tracker remembers
 * (docs/rules.md, "Derived fields").
 *
 * A field of the event's layout with the same name comes first, but for the names that attribute an
 * event.
 */
#ifndef RULES_DERIVED_H
#define RULES_DERIVED_H

#include <stdbool.h>

#include "rules/event_pattern.h"

enum derived {
	DERIVED_NONE,
	DERIVED_PROCESS,
	DERIVED_PROCESS_ID,
	DERIVED_OF_PROCESS,
	DERIVED_OLD_PROCESS,
	DERIVED_THREAD_ID,
	DERIVED_CPU,
	DERIVED_LEVEL,
	DERIVED_OPCODE,
	DERIVED_PAYLOAD_SIZE,
	DERIVED_SESSION,
	DERIVED_PROVIDER,
	DERIVED_EVENT,
	DERIVED_PATH,
	DERIVED_PATH_GROUP,
	DERIVED_VOLUME,
	DERIVED_PAGING,
	DERIVED_EXIT_RESULT,
	DERIVED_DRIVER,
	DERIVED_SERVICE,
	DERIVED_DURATION,
	DERIVED_STARTED,
	DERIVED_STARTED_BY,
	DERIVED_ON_CPU,
	DERIVED_READY,
	DERIVED_ACTIVITY, /* from here on: event_items.h */
	DERIVED_RELATED_ACTIVITY,
	DERIVED_SID,
	DERIVED_TERMINAL_SESSION,
	DERIVED_STACK_DEPTH,
	DERIVED_STACK_MATCH_ID,
	DERIVED_EVENT_KEY,
	DERIVED_PROCESS_START_KEY,
	DERIVED_CONTAINER_ID,
	DERIVED_COUNT
};

enum value_type {
	TYPE_UNKNOWN, /* of a provider whose layouts only the events tell */
	TYPE_INTEGER,
	TYPE_TEXT,
	TYPE_REAL,     /* a number as a value, else text */
	TYPE_DURATION, /* nanoseconds */
};

struct derived_field {
	const char *name;
	enum value_type type;
	bool before_layout; /* never what a payload calls so */
};

/* DERIVED_NONE for a name that is none. */
enum derived derived_find(const char *name);
const struct derived_field *derived_field(enum derived derived);

/* Whether events of the pattern can have it. */
bool derived_fits(enum derived derived, const struct event_pattern *pattern);

/* The field of the layout that a derived one is worked out of ("IoFlags" of Paging); NULL: of none.
 */
const char *derived_origin(enum derived derived);

/* Values of ExitResult, and the one of an exit status. */
enum exit_result { EXIT_SUCCESS_RESULT, EXIT_CRASH_RESULT, EXIT_ERROR_RESULT, EXIT_RESULTS };
const char *exit_result_name(enum exit_result result);
enum exit_result exit_result_of(uint32_t status);

#endif
