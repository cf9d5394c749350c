/* SPDX-License-Identifier: MIT */
/*
 * Selects events of a recording by provider, event, process, conditions on fields, and time.
 */
#ifndef ETWTOOL_EVENT_FILTER_H
#define ETWTOOL_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/nearest.h"
#include "etwtool/recording.h"

enum { SUGGESTION_SIZE = 65 }; /* A longer word gets no suggestion. */

/* A name on the command line: whether it occurred, and the nearest name that did. */
struct requested_name {
	const char *name; /* borrowed; NULL: any */
	bool met;
	struct nearest nearest;
	char suggestion[SUGGESTION_SIZE];
};

/* Zero-initialise it and set the names and times to select by. */
struct event_filter {
	struct requested_name provider; /* name or GUID, may have `*` and `?` */
	/* name with `*` and `?`, or an id; with a slash it may be a rule's name */
	struct requested_name event;
	struct requested_name process; /* name with `*` and `?`, or a process id */
	struct utc_moment from;        /* first moment of the range */
	struct utc_moment to;          /* first moment after the range */
	struct probe *probe;           /* owned; NULL: no conditions */
	int64_t start; /* start of the recording, needed for from and to; 100 ns since 1601 UTC */
	bool live;     /* selects events of live sessions, which complaints then name */

	struct map classes;   /* struct etw_event_class * -> 1: requested, 0: not requested */
	struct map processes; /* label ids of processes that were tried as suggestions */
	/* field names of the probe's conditions */
	struct requested_name fields[PROBE_CONDITIONS_MOST];
};

/* An option_read: adds a condition to a struct event_filter. probe_add() defines the text. */
bool event_filter_where(void *filter, const char *text, struct etw_error *err);

/* Returns whether the filter can leave out an event. */
bool event_filter_active(const struct event_filter *filter);

/* Returns whether the time range ends at or before its start, so that no event is in it. */
bool event_filter_is_empty(const struct event_filter *filter);

/* Call these in on_class and on_record of a recording that uses the filter's probe. */
void event_filter_class(struct event_filter *filter, const struct etw_event_class *class);
bool event_filter_keeps(struct event_filter *filter, const struct recording *recording,
			const struct etw_record *record, const struct etw_event_class *class);

/* Does the same for a record of another source. process and process_id: as recording_process()
 * returns them; they are used only if filter->process.name is set. */
bool event_filter_keeps_of(struct event_filter *filter, const char *process, uint32_t process_id,
			   const struct etw_record *record, const struct etw_event_class *class);

/*
 * Call it after a run that met records of these times. Complains and returns false if a name on the
 * command line did not occur in the recording, or if the recording is outside the time range.
 */
bool event_filter_found(const struct event_filter *filter, const struct record_times *times,
			const char *command);

void event_filter_done(struct event_filter *filter);

/* ---- on the command line ---- */

/*
 * The options of a filter. `filter` is its member in `type`, the struct that the command's options
 * fill.
 */
#define EVENT_FILTER_OPTIONS(type, filter)                          \
	{ "--provider", "NAME", EVENT_FILTER_PROVIDER, OPTION_TEXT, \
	  .offset = offsetof(type, filter.provider.name) },         \
		EVENT_FILTER_FURTHER_OPTIONS(type, filter)
#define EVENT_FILTER_PROVIDER "name or GUID; * matches any text, ? one character"
/* Those without --provider. */
#define EVENT_FILTER_FURTHER_OPTIONS(type, filter)                                                 \
	{ "--event", "NAME", "name, id, or Provider/Name as in a rule; with * and ?", OPTION_TEXT, \
	  .offset = offsetof(type, filter.event.name) },                                           \
		{ "--process", "NAME", "name or id; with * and ?", OPTION_TEXT,                    \
		  .offset = offsetof(type, filter.process.name) },                                 \
		{ "--where",                                                                       \
		  "CONDITION",                                                                     \
		  "\"FIELD OPERATOR LITERAL\"; repeatable, all must hold",                         \
		  OPTION_READ,                                                                     \
		  .offset = offsetof(type, filter),                                                \
		  .read = event_filter_where },                                                    \
		{ "--from",                                                                        \
		  "TIME",                                                                          \
		  "start of the time range: 2020-07-29T00:07:00Z, or seconds (also 500ms, 1m)",    \
		  OPTION_READ,                                                                     \
		  .offset = offsetof(type, filter.from),                                           \
		  .takes = UTC_MOMENT,                                                      \
		  .read = utc_moment_read },                                                      \
	{                                                                                          \
		"--to", "TIME", "end of the time range, which is excluded", OPTION_READ,           \
			.offset = offsetof(type, filter.to), .takes = UTC_MOMENT,           \
			.read = utc_moment_read                                                   \
	}

/* The text that --help shows about them below the options. */
#define EVENT_FILTER_HELP                                                                                 \
	"Conditions are those of a collector's `where`, written in one text:\n"                           \
	"  --where 'TransferSize gt 4096'  --where 'Process in chrome, msedge'\n"                         \
	"  --where 'Path matches \\.log$'\n"                                                              \
	"  eq ne in (numbers and texts), lt le gt ge has lacks (numbers), starts ends matches (texts);\n" \
	"  == != < <= > >= =~ are other spellings of eq ne lt le gt ge matches.\n"                        \
	"  Fields are those of the events, as etwtool fields shows them, and those that rules have\n"     \
	"  besides: Process, Path, Volume, Level, Cpu, ThreadId, Duration and so on.\n"                   \
	"Seconds count from the start of the recording. Times are in UTC.\n"

/* ---- names of event classes, for other commands ---- */

/*
 * Return whether the class has the requested provider or event, by name, number or pattern. Each
 * name of the class is tried as a suggestion.
 */
bool is_requested_provider(struct requested_name *requested, const struct etw_event_class *class);
bool is_requested_event(struct requested_name *requested, const struct etw_event_class *class);

/*
 * Complains that there is no `what` with this name, and suggests the nearest. Returns TOOL_FAILED.
 */
int complain_of_missing(const struct requested_name *requested, const char *command,
			const char *what);

#endif
