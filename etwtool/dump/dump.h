/* SPDX-License-Identifier: MIT */
/*
 * The formats of etwtool dump.
 *
 * jsonl is for programs: every record as it stands in the file, in file order. csv and text are for
 * people: records in time order, with the process that each belongs to, names as rules take them.
 */
#ifndef ETWTOOL_DUMP_DUMP_H
#define ETWTOOL_DUMP_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/describe.h>

#include "etwtool/dump/dump_stacks.h"
#include "etwtool/event_filter.h"
#include "etwtool/tool.h"

struct dump_request {
	struct tool_arguments arguments;
	struct event_filter filter;
	uint64_t per_class; /* events of each class; 0: all */
	bool stacks;        /* also those that are records of their own */
	enum { DUMP_JSONL, DUMP_CSV, DUMP_TEXT } format;
	enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour;
};

/* Write the events, or complain; return exit statuses. */
int dump_jsonl(struct dump_request *request);
int dump_csv(struct dump_request *request);

/* Adds a record as a line of jsonl. origins: those of the whole recording; stacks: NULL, they are
 * not shown. */
void dump_add_line(struct etw_text *out, const struct etw_record *record,
		   const struct etw_schema_origins *origins,
		   struct etw_tracelogging_cache *tracelogging, struct dump_stacks *stacks);

/* ---- shared ---- */

/* Counts the events shown of each class. Zero-initialise it. */
struct dump_limit {
	uint64_t per_class; /* 0: no limit */
	struct map shown;   /* hash of a class -> events shown of it */
};

/* Whether the record is one of the first of its class. */
bool dump_limit_allows(struct dump_limit *limit, const struct etw_record *record);

/* Writes and empties the output once it is large enough; false when it cannot be written. */
bool dump_flush(struct etw_text *out);

/* A run of the pipeline, which shows the records that the filter keeps, in time order. */
struct dump_pass {
	struct dump_request *request;
	void *context;
	/* Shows a record, perhaps by adding to out. False ends the run. */
	bool (*show)(struct dump_pass *pass, const struct etw_record *record,
		     const struct etw_event_class *class);
	/* An event class is new, or its struct serves another one from now on; may be NULL. */
	void (*on_class)(void *context, const struct etw_event_class *class);
	struct dump_limit limit;

	/* Set by the run. */
	struct recording *recording; /* owned; opened by the first run */
	struct dump_stacks *stacks;  /* owned; NULL until they are needed */
	const char *process;         /* of the record that is shown */
	uint32_t process_id;
	struct map
		derived; /* struct etw_event_class * -> its derived fields, as a set of numbers */
	struct etw_text value; /* owned; of one of them */
	struct etw_text out;   /* owned; what has not been written yet */
	bool stopped;          /* show() returned false, or the output cannot be written */
};

/*
 * Runs it, perhaps again. False, after a complaint, when it was stopped, the recording cannot be
 * read or a name in the filter does not occur in it.
 */
bool dump_pass_run(struct dump_pass *pass);

/* In show(): the number of addresses in the stacks of an event, for dump_stacks_add(). False, after
 * a complaint, when they cannot be read. */
bool dump_pass_stack(struct dump_pass *pass, const struct etw_record *record, size_t *count);

void dump_pass_done(struct dump_pass *pass);

/*
 * In show(): the derived fields that apply to a class, or that a condition is about, and that the
 * columns for every event do not show already. Start with *number 0; NULL after the last.
 */
const struct derived_field *
dump_derived_next(struct dump_pass *pass, const struct etw_event_class *class, unsigned *number);

#endif
