/* SPDX-License-Identifier: MIT */
/*
 * Makes records from lines as `etwtool dump` (jsonl) writes them.
 *
 * A line may be shorter than one of a dump: `fields` or `raw`, a `provider` and a time are enough;
 * a kernel event also needs opcode and version. What a dump does not show cannot be restored:
 * extended items other than a TraceLogging layout and a provider name, processor times and
 * activities of headers, and the payloads of records that describe others (EventInfo, manifests).
 */
#ifndef ETWTOOL_RELOG_EVENT_LINES_H
#define ETWTOOL_RELOG_EVENT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/describe.h>
#include <etw/mirror.h>
#include <etw/record.h>

#include "base/error.h"

struct event_lines; /* opaque; one thread */

struct event_lines_options {
	/*
	 * Schemas of events that are neither kernel events nor TraceLogging; complete before the
	 * first line. NULL: none.
	 */
	const struct etw_schema_origins *origins;
	const struct etw_source_clock *clock; /* clock of the recording that gets the records */
	uint8_t pointer_size;                 /* pointer size of records that do not state one */
};

/* Copies the options; what they point to is borrowed. Returns NULL without memory. */
struct event_lines *event_lines_new(const struct event_lines_options *options,
				    struct etw_error *err);
void event_lines_free(struct event_lines *lines);

/*
 * Learns the layout of a TraceLogging event, so that lines about this event get the same layout. An
 * event whose layout is unknown gets one that its values suggest: texts in UTF-16, integers of 64
 * bits, bool, double, and lists and structures of these. Returns false without memory.
 */
bool event_lines_learn(struct event_lines *lines, const struct etw_record *record,
		       struct etw_error *err);

/*
 * Makes the record of a line, which has no line feed. Everything in *record is borrowed until the
 * next call. On failure returns false with an error such as "KEY: expected …", without the number
 * of the line.
 */
bool event_lines_read(struct event_lines *lines, const char *line, size_t size,
		      struct etw_out_record *record, struct etw_error *err);

/*
 * Makes the records of a file of at most 1 GiB and calls each() with them, in the order of the
 * lines; empty lines are skipped. Stops at the first line that is wrong or for which each() returns
 * false; then returns false with the error "PATH:LINE: sentence".
 */
bool event_lines_each(struct event_lines *lines, const char *path,
		      bool (*each)(void *context, const struct etw_out_record *record,
				   struct etw_error *err),
		      void *context, struct etw_error *err);

#endif
