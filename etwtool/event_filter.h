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

enum { SUGGESTION_SIZE = 65 }; /* longer words are near none */

/* A name on the command line: whether it was met, and the nearest name that was. */
struct requested_name {
	const char *name; /* borrowed; NULL: any */
	bool met;
	struct nearest nearest;
	char suggestion[SUGGESTION_SIZE];
};

struct filter_time {
	bool set;
	bool relative; /* to the start of the recording */
	int64_t time_100ns;
};

/* Zero-initialise it and set the names and times to select by. */
struct event_filter {
	struct requested_name provider; /* name or GUID, maybe with `*` and `?` */
	struct requested_name event;    /* likewise, or an id; with a slash also as in a rule */
	struct requested_name process;  /* name, likewise, or an id */
	struct filter_time from;        /* the first moment … */
	struct filter_time to;          /* … and the first one behind */
	struct probe *probe;            /* owned; NULL: no conditions */
	int64_t start; /* of the recording, where there are times; 100 ns since 1601 */

	struct map classes;   /* of struct etw_event_class * -> 1: requested, 0: not */
	struct map processes; /* label ids of processes that were offered as near */
	struct requested_name fields[PROBE_CONDITIONS_MOST]; /* of the probe */
};

/* Reads a struct filter_time: "2020-07-29T00:07:00Z", or "10", "10s", "1m" from the start. An
 * option_read. */
bool filter_time_read(void *time, const char *text, struct etw_error *err);

/* Adds a condition to a struct event_filter, as probe_add() takes it. An option_read. */
bool event_filter_where(void *filter, const char *text, struct etw_error *err);

/* Whether it leaves out any event. */
bool event_filter_active(const struct event_filter *filter);

/* Whether its end of the time range is not after the start, so that no event is in it. */
bool event_filter_is_empty(const struct event_filter *filter);

/* For on_class and on_record of a recording that has the filter's probe. */
void event_filter_class(struct event_filter *filter, const struct etw_event_class *class);
bool event_filter_keeps(struct event_filter *filter, const struct recording *recording,
			const struct etw_record *record, const struct etw_event_class *class);

/*
 * After a run with these times of records: false, with a line, if a name on the command line did
 * not occur in the recording, or the recording is outside the time range.
 */
bool event_filter_found(const struct event_filter *filter, const struct record_times *times,
			const char *command);

void event_filter_done(struct event_filter *filter);

/* ---- on the command line ---- */

/* The options of a filter, which is a member of the struct that a command's options set. */
#define EVENT_FILTER_OPTIONS(type, filter)                                                        \
	{ "--provider", "NAME", "name or GUID; * matches any text, ? one character", OPTION_TEXT, \
	  .offset = offsetof(type, filter.provider.name) },                                       \
		{ "--event", "NAME", "name, id, or Provider/Name as in a rule; with * and ?",     \
		  OPTION_TEXT, .offset = offsetof(type, filter.event.name) },                     \
		{ "--process", "NAME", "name or id; with * and ?", OPTION_TEXT,                   \
		  .offset = offsetof(type, filter.process.name) },                                \
		{ "--where",                                                                      \
		  "CONDITION",                                                                    \
		  "\"FIELD OPERATOR LITERAL\"; repeatable, all must hold",                        \
		  OPTION_READ,                                                                    \
		  .offset = offsetof(type, filter),                                               \
		  .read = event_filter_where },                                                   \
		{ "--from",                                                                       \
		  "TIME",                                                                         \
		  "start of the time range: 2020-07-29T00:07:00Z, or seconds (also 500ms, 1m)",   \
		  OPTION_READ,                                                                    \
		  .offset = offsetof(type, filter.from),                                          \
		  .takes = EVENT_FILTER_TIME,                                                     \
		  .read = filter_time_read },                                                     \
	{                                                                                         \
		"--to", "TIME", "end of the time range, which is excluded", OPTION_READ,          \
			.offset = offsetof(type, filter.to), .takes = EVENT_FILTER_TIME,          \
			.read = filter_time_read                                                  \
	}
#define EVENT_FILTER_TIME "a time such as 2020-07-29T00:07:00Z, or seconds such as 10 or 10s"

/* What --help says about them below the options. */
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
 * Whether the class has this provider or event, by name, number or pattern. Every name of the class
 * becomes a possible suggestion.
 */
bool is_requested_provider(struct requested_name *requested, const struct etw_event_class *class);
bool is_requested_event(struct requested_name *requested, const struct etw_event_class *class);

/* Complains that there is no `what` of this name; returns TOOL_FAILED. */
int complain_of_missing(const struct requested_name *requested, const char *command,
			const char *what);

#endif
