/* SPDX-License-Identifier: MIT */
/*
 * The formats of etwtool dump.
 *
 * jsonl is for programs: it has every record as stored, in file order. csv and text are for people:
 * they have records in time order, with their processes and with the names that rules use. Live
 * events have the format of jsonl.
 */
#ifndef ETWTOOL_DUMP_DUMP_H
#define ETWTOOL_DUMP_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/describe.h>

#include "etwtool/dump/dump_stacks.h"
#include "etwtool/event_filter.h"
#include "etwtool/tool.h"

enum {
	DUMP_OUTPUT_SIZE = 1 << 16, /* bytes of output that are written together */
	DUMP_PROVIDERS_MOST = 64,
};

struct dump_request {
	struct tool_arguments arguments;
	struct event_filter filter;
	uint64_t per_class; /* limit of events of each class; 0: none */
	bool stacks;        /* include stacks that are records of their own */
	enum { DUMP_JSONL, DUMP_CSV, DUMP_TEXT } format;
	enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour;
	/* ---- live sessions, if no recording is named ---- */
	const char *config;                         /* NULL: providers of the command line */
	const char *session;                        /* NULL: a name with the process id */
	const char *providers[DUMP_PROVIDERS_MOST]; /* as etw_provider_spec_parse() reads them */
	size_t provider_count;
	uint64_t duration_ms; /* 0: no limit */
};

/* The complaint about several names of a filter. */
#define DUMP_ONE_PROVIDER                                                                   \
	"--provider selects events by one name here; several follow live sessions without " \
	"--config.file"

/* Write the events, or complain. They return exit statuses. */
int dump_jsonl(struct dump_request *request);
int dump_csv(struct dump_request *request);
int dump_live(struct dump_request *request);

/*
 * Adds a record as a line of jsonl. origins holds the schemas of the whole recording. stacks may be
 * NULL: the line then has no stacks.
 */
void dump_add_line(struct etw_text *out, const struct etw_record *record,
		   const struct etw_schema_origins *origins,
		   struct etw_tracelogging_cache *tracelogging, struct dump_stacks *stacks);

/* ---- shared ---- */

/* Counts the events shown of each event class. Zero-initialise it. */
struct dump_limit {
	uint64_t per_class; /* 0: no limit */
	struct map shown;   /* hash of a class -> events shown of it */
};

/* Counts the record and returns whether it is within the limit of its event class. */
bool dump_limit_allows(struct dump_limit *limit, const struct etw_record *record);

/* Writes and empties the output once it is large enough. Returns false if it cannot be written. */
bool dump_flush(struct etw_text *out);

/* A run of the pipeline that shows the records which the filter keeps, in time order. */
struct dump_pass {
	struct dump_request *request;
	void *context;
	/* Shows a record, for example by adding to out. Returning false ends the run. */
	bool (*show)(struct dump_pass *pass, const struct etw_record *record,
		     const struct etw_event_class *class);
	/*
	 * Called when an event class is new, or when its struct is reused for another class; may be
	 * NULL.
	 */
	void (*on_class)(void *context, const struct etw_event_class *class);
	struct dump_limit limit;

	/* The run sets these. */
	struct recording *recording; /* owned; the first run opens it */
	struct dump_stacks *stacks;  /* owned; NULL until stacks are needed */
	const char *process;         /* process of the record that is shown */
	uint32_t process_id;
	struct map derived; /* struct etw_event_class * -> set of numbers of its derived fields */
	struct etw_text value; /* working memory for a derived value; owned */
	struct etw_text out;   /* output that is not written yet; owned */
	bool stopped;          /* show() returned false, or the output cannot be written */
};

/*
 * Runs the pass; it may be called again. Complains and returns false if the pass was stopped, if
 * the recording cannot be read, or if a name in the filter does not occur in it.
 */
bool dump_pass_run(struct dump_pass *pass);

/*
 * Call it in show(): sets *count to the number of addresses in the stacks of the event, for
 * dump_stacks_add(). Complains and returns false if the stacks cannot be read.
 */
bool dump_pass_stack(struct dump_pass *pass, const struct etw_record *record, size_t *count);

void dump_pass_done(struct dump_pass *pass);

/*
 * Call it in show(): returns the next derived field that applies to the class or that a condition
 * names, without those that every event shows as a column. Start with *number 0. Returns NULL after
 * the last.
 */
const struct derived_field *
dump_derived_next(struct dump_pass *pass, const struct etw_event_class *class, unsigned *number);

#endif
