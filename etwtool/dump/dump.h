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
#include <stddef.h>
#include <stdint.h>

#include <etw/describe.h>
#include <etw/record.h>

#include "base/error.h"
#include "base/text.h"
#include "etwtool/event_filter.h"
#include "etwtool/tool.h"

/* ---- call stacks ---- */

/*
 * The call stacks of events, for etwtool dump. Some stacks are extended items of the event itself.
 * With --stacks also those count that the kernel writes as records of their own
 * (include/etw/stack_walk.h). One thread uses it.
 */

/* The field name under which all formats show stacks. */
#define DUMP_STACK "Event.Stack"

struct dump_stacks; /* opaque; its memory is bounded */

/* join: also use the stacks that are records of their own. */
struct dump_stacks *dump_stacks_new(bool join, struct etw_error *err);
void dump_stacks_free(struct dump_stacks *stacks); /* NULL is allowed */

/*
 * Pass all records of the recording in file order, then finish. dump_stacks_finish() returns false
 * without memory.
 */
void dump_stacks_learn(struct dump_stacks *stacks, const struct etw_record *record);
bool dump_stacks_finish(struct dump_stacks *stacks, struct etw_error *err);

/* Does both in one pass over the recording at the path. */
bool dump_stacks_read(struct dump_stacks *stacks, const char *path, uint8_t pointer_size,
		      struct etw_error *err);

/* Returns whether the event has a stack among its extended items. */
bool dump_stacks_in(const struct etw_record *record);

/*
 * Sets *count to the number of addresses in the stacks of the event. The addresses are valid until
 * the next call. Returns false without memory.
 */
bool dump_stacks_of(struct dump_stacks *stacks, const struct etw_record *record, size_t *count);

/*
 * Adds one address; index 0 is the innermost frame. The text is "0x7ff6c1a210f4 server.exe+0x10f4",
 * or the address alone. The image name comes from the recording and is not escaped.
 */
void dump_stacks_add(const struct dump_stacks *stacks, size_t index, struct etw_text *out);

/* Warns on standard error about stacks that did not fit into the bounds. */
void dump_stacks_warn(const struct dump_stacks *stacks);

/* ---- images ---- */

/*
 * The images of a recording by address: finds which image a process had at an address at a given
 * time. One thread uses it.
 *
 * exporter/track/drivers.h knows only images of the kernel, and learns them while events arrive.
 * This index has the images of all processes, and is complete before the first look-up.
 */

struct images; /* opaque; its memory is bounded */

struct images *images_new(struct etw_error *err);
void images_free(struct images *images); /* NULL is allowed */

/*
 * Call it with every record of the recording, in file order. It notes loads, unloads and rundowns
 * of images (class Image, and Microsoft-Windows-Kernel-Process).
 */
void images_learn(struct images *images, const struct etw_record *record);

/* Call it after the last record. Returns false without memory. */
bool images_finish(struct images *images);

/*
 * Returns the base name, in UTF-8, of the image that the process had at the address at raw_time; if
 * there is none, of the kernel's image there. Sets *offset to the bytes from the base of the image.
 * Returns NULL if no image is known.
 */
const char *images_find(const struct images *images, uint32_t process_id, uint64_t address,
			int64_t raw_time, uint64_t *offset);

/* ---- the formats ---- */

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
