/* SPDX-License-Identifier: MIT */
/*
 * The formats of etwtool dump.
 *
 * jsonl is for programs: every record as it stands in the file, in file order. csv and text are for
 * people: records in time order, with the process that each belongs to, names as rules take them.
 */
#ifndef TOOL_DUMP_H
#define TOOL_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/event_filter.h"
#include "tool/tool.h"

enum dump_format { DUMP_JSONL, DUMP_CSV, DUMP_TEXT };

struct dump_options {
	struct tool_arguments *arguments; /* the recording and how to read it */
	uint64_t per_class;               /* events of each kind; 0: all */
	struct event_filter *filter;
	bool colour; /* DUMP_TEXT */
};

/* Write the events, or complain; return exit statuses. */
int dump_jsonl(const struct dump_options *options);
int dump_csv(const struct dump_options *options);

/* ---- shared ---- */

enum { DUMP_OUTPUT_SIZE = 1 << 16 };

/* Counts the events shown of each kind. Zero-initialise it. */
struct dump_limit {
	uint64_t per_class; /* 0: no limit */
	struct map shown;   /* hash of a kind -> events shown of it */
};

/* Whether the record is one of the first of its kind. */
bool dump_limit_allows(struct dump_limit *limit, const struct event_record *record);

/*
 * The records that the filter keeps, in time order, until show() returns false. False, after a
 * complaint, when that failed or a name in the filter does not occur in the recording.
 */
struct dump_pass {
	const struct dump_options *options;
	void *context;
	bool (*show)(void *context, const struct event_record *record,
		     const struct event_class *class, const char *process, uint32_t process_id);
	/* An event class is new, or its struct serves another one from now on; may be NULL. */
	void (*on_class)(void *context, const struct event_class *class);
	struct recording *recording; /* of the caller; opened by the first run */
	struct dump_limit limit;
	bool stopped;
};

bool dump_pass_run(struct dump_pass *pass);
void dump_pass_done(struct dump_pass *pass);

#endif
