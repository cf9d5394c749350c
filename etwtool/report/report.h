/* SPDX-License-Identifier: MIT */
/*
 * The results of etwtool report about a recording, and the three formats in which it writes them: a
 * JSON document, an HTML page that draws the document, and Markdown.
 */
#ifndef ETWTOOL_REPORT_REPORT_H
#define ETWTOOL_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "exporter/pipeline.h"
#include "exporter/rules/rules.h"
#include "exporter/runner.h"
#include "exporter/track/derived_fields.h"
#include "exporter/track/top_paths.h"
#include "metrics/registry.h"

/* ---- series ---- */

/*
 * Samples the counters of the exporter while etwtool report replays a recording. Each chart of the
 * report shows one counter over time, summed by one of its labels.
 */

/* Returns the sum of two sample values, or 2^64 - 1 if it is greater. */
static inline uint64_t count_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* ---- steps ---- */

/* The most steps, of equal length, into which the time of a recording is divided. */
enum { REPORT_STEPS = 240 };

/* Zero-initialise it and set `guess`. Times are in 100 ns since 1601 UTC. */
struct report_steps {
	int64_t guess;       /* end of the recording according to its header; 0: unknown */
	int64_t step;        /* length of a step; 0: no record had a time */
	int64_t origin;      /* beginning of step 0 */
	unsigned current;    /* index of the present step */
	int64_t first, last; /* times of the earliest and latest record */
	uint64_t records;
	uint64_t outside; /* records with a time before 1970 or after 9999, or with none */
};

/* ---- charts ---- */

enum report_unit { REPORT_BYTES, REPORT_COUNT, REPORT_SECONDS /* in nanoseconds */ };

enum report_form {
	REPORT_STACK,   /* shows how fast each row grows, stacked */
	REPORT_BUCKETS, /* shows a histogram over time; rows are its buckets */
	REPORT_REMARK,  /* is no chart: says what makes the other numbers doubtful */
};

/* A row of the table in report_charts.c. */
struct report_chart {
	const char *section; /* an id of report_sections; NULL for a remark */
	const char *title;
	const char *sample;            /* name of the counter, as in the exposition */
	const char *label;             /* the label by which samples are summed */
	const char *only, *only_value; /* use only samples with this label value; NULL: all */
	enum report_unit unit;
	enum report_form form;
	/*
	 * For seconds: the name of one second per second, such as "CPUs"; NULL: 100 %. For buckets:
	 * what they count.
	 */
	const char *noun;
};

/* The number of rows of the table. */
enum { REPORT_CHARTS = 45 };
extern const struct report_chart *const report_charts;

/*
 * A row is gone when the registry has evicted all its samples. Beyond this number the smallest rows
 * that are gone are merged into the row "_other".
 */
enum { REPORT_GONE_MOST = 2048 };

struct report_row {
	uint64_t key; /* hash of the name */
	char *name;   /* label value as in the registry; owned */
	uint64_t total;
	/* sums of the row's samples at the last sampling, and at the present one */
	uint64_t seen, next;
	uint64_t *steps; /* total of the row at the end of each step; owned */
};

struct report_series {
	struct map by_name;      /* hash of the name -> index of the row */
	struct report_row *rows; /* owned; report_finish() sorts them by total, greatest first */
	size_t count, capacity;
	uint64_t total; /* sum of all rows; report_finish() sets this and `most` */
	uint64_t most;  /* greatest growth of all rows together in one step */
};

/* Zero-initialise it and set steps.guess. */
struct report_charted {
	struct report_steps steps;
	struct report_series series[REPORT_CHARTS];
	bool failed; /* no memory */
};

/*
 * Call it before a record is counted, with the record's time or ETW_RECORD_NO_TIME: samples the
 * registry whenever a step has ended.
 */
void report_sample(struct report_charted *charted, struct registry *registry, int64_t time);

/* Call it after the last record: takes the last sample, computes totals and sorts the rows. */
void report_finish(struct report_charted *charted, struct registry *registry);
void report_charted_done(struct report_charted *charted);

/* Returns how much a row grew in a step. */
static inline uint64_t report_growth(const struct report_row *row, unsigned step)
{
	return row->steps[step] - (step > 0 ? row->steps[step - 1] : 0);
}

/* ---- events ---- */

/*
 * Gathers for etwtool report what single records of a recording say and no counter has: the
 * machine, the processes with their lifetimes, and the files with most bytes.
 */

enum {
	REPORT_PROCESSES = 1000, /* processes that are listed; further ones are only counted */
	REPORT_FILES = 20,       /* number of files in each list */
	REPORT_RECENT_PATHS = 8192,
};

/* An instance of a process. Times are in 100 ns since 1601 UTC. */
struct report_process {
	char *name, *command; /* UTF-8, owned; command is the command line, "" if unknown */
	uint32_t process_id, parent_id;
	int64_t start, end;  /* ETW_RECORD_NO_TIME: before or after the recording */
	int32_t exit_status; /* 0 if it is not known */
	bool exit_known;
};

/* Facts about the machine that only SystemConfig/CPU states. */
struct report_machine {
	char *name;          /* UTF-8, owned; NULL: unknown */
	uint32_t memory_mib; /* 0: not known */
};

enum report_direction { REPORT_WRITTEN, REPORT_READ, REPORT_DIRECTIONS };

struct report_file {
	const char *path, *process; /* borrowed from struct report_events and the registry */
	uint64_t bytes;             /* lower bound */
	uint64_t error;             /* the upper bound is bytes + error */
};

/* A path that recent events had. */
struct report_path {
	char *raw; /* the path as recorded, not the text that is shown; owned */
	uint32_t size;
	uint32_t id; /* in report_events.paths */
};

/* Only report_events.c uses the members, except processes and machine. Zero-initialise it. */
struct report_events {
	struct report_machine machine;
	struct report_process *processes; /* owned; in the order in which they were seen */
	size_t process_count, process_capacity;
	uint64_t processes_left_out;
	struct map running;        /* process id -> index of its latest instance */
	struct registry *registry; /* borrowed */
	const struct derived_field *path, *volume, *paging;
	struct intern *paths; /* owned */
	struct report_path recent[REPORT_RECENT_PATHS];
	const struct etw_schema
		/* schema of the latest read or write; the indexes of two of its fields follow */
		*layout;
	int size_index, flags_index;
	struct top_sketch files[REPORT_DIRECTIONS];
	bool failed; /* no memory */
};

/* After a failure the caller must call report_events_done() as well. */
bool report_events_init(struct report_events *events, struct registry *registry,
			struct etw_error *err);
void report_events_done(struct report_events *events);

/* A callback of struct pipeline_observer; context is the struct report_events. */
void report_events_record(void *context, const struct etw_record *record,
			  const struct etw_event_class *class, struct tracker *tracker);

/*
 * Fills in the files with most bytes, each for one process, greatest first, and returns their
 * number, at most REPORT_FILES. Paging I/O is left out. Files whose path no event names are counted
 * as "_unknown".
 */
size_t report_files(const struct report_events *events, enum report_direction direction,
		    struct report_file files[REPORT_FILES]);

/* ---- a report ---- */

struct report {
	const char *name;                /* file name without folder; borrowed */
	const struct etw_header *header; /* borrowed, like all pointers below */
	uint64_t size_bytes;             /* size of the file */
	const char *clock_doubt;         /* NULL: none */
	struct registry *registry;
	const struct rule_set *rules;
	const struct etw_configured_manifests *manifests;
	const struct dry_run *dry_run;
	struct etw_source_statistics statistics; /* what the replay counted */
	struct report_charted charted;
	struct report_events events;
};

/* ---- the three forms ---- */

/* Every report begins with the mark of its format. */
#define REPORT_HTML_MARK     "<!DOCTYPE html>\n<!-- etwtool report "
#define REPORT_JSON_MARK     "{\"etwtool_report\":"
#define REPORT_MARKDOWN_MARK "# etwtool report: "

/*
 * Adds the document as one line (report_json.c; docs/report.md describes it). with_steps includes
 * the values of the charts over time, which are most of the document.
 */
void report_add_json(struct etw_text *out, const struct report *report, bool with_steps);
/* Adds the Markdown text (report_markdown.c). */
void report_add_markdown(struct etw_text *out, const struct report *report);

/* ---- findings (report_findings.c) ---- */

enum report_severity { REPORT_GOOD, REPORT_NOTE, REPORT_PROBLEM };

struct report_finding {
	const char *type; /* name for programs, one word */
	enum report_severity severity;
	bool about_losses;                /* about losses and doubts; false: about what happened */
	const struct report_chart *chart; /* the chart that shows it; NULL: none */
	const char *text;                 /* one sentence */
	/* length in bytes of the name at the start of text; 0: none */
	size_t name_size;
};

typedef void report_on_finding(void *context, const struct report_finding *finding);

/*
 * Calls back for each finding, most urgent first: losses and doubts, then what happened. Returns
 * false without memory.
 */
bool report_find(const struct report *report, report_on_finding *on_finding, void *context);

/* Returns whether the recording feeds the collector. */
bool report_is_fed(const struct report *report, const char *collector);

/* ---- parts of the document ---- */

/* Number of rows of a chart that are named; all further rows are shown as one. */
enum { REPORT_ROWS = 14 };

/*
 * Returns how many rows of a chart have a total; they come first. For buckets this counts all rows
 * up to the last one with a total.
 */
size_t report_rows(const struct report_series *series);

/*
 * Returns the greatest growth of the rows together in one step, and sets *step to the first step
 * that had it.
 */
uint64_t report_peak(const struct report *report, const struct report_series *series, size_t first,
		     size_t end, unsigned *step);
/*
 * Returns the time, in 100 ns, over which means are taken: the duration of the recording, but at
 * least one step, because otherwise the mean could exceed the peak.
 */
uint64_t report_mean_time(const struct report_steps *steps);

/* A line about the first row of a chart, such as "CPU time". */
struct report_first {
	const char *sample, *what;
	const char *unless; /* the line is left out if this sample has a chart; may be NULL */
};
enum { REPORT_FIRSTS = 17 };
extern const struct report_first *const report_firsts;
/* Returns the chart of the line; REPORT_CHARTS: nothing to show. */
size_t report_first_chart(const struct report *report, const struct report_first *first);

/* A section of the page. */
struct report_section {
	const char *id, *title, *note; /* note NULL: none */
	const char *collector;         /* the collector that feeds the section; NULL: any */
};
enum { REPORT_SECTIONS = 9 };
extern const struct report_section *const report_sections;

/* Adds the processes as members of the open object, each below its parent (report_events.c). */
void report_add_processes(struct json *json, const struct report_events *events);
/* Adds an exit status: "0xC0000005 (access violation)", "1". */
void report_add_exit_status(struct etw_text *out, int32_t status);

/* ---- values for people (report_charts.c) ---- */

/* Adds "12,345 events", without the s for 1. */
void report_add_counted(struct etw_text *out, uint64_t number, const char *noun);
/* Adds a total in a unit: "12.3 MB", "12,345", "1.25 s". */
void report_add_value(struct etw_text *out, enum report_unit unit, uint64_t value);
/* Adds the growth of a total of a chart per time: "12.3 MB/s", "0.25 CPUs", "3 %". */
void report_add_rate(struct etw_text *out, const struct report_chart *chart, uint64_t value,
		     uint64_t time_100ns);
/* Adds a duration: "1 min 12 s", "150 ms". */
void report_add_duration(struct etw_text *out, uint64_t time_100ns);
/*
 * Adds the time of day: "07:00:12". The date comes first if the recording has more than one, and
 * milliseconds follow if its steps are shorter than a second. Adds "–" for no time.
 */
void report_add_clock(struct etw_text *out, const struct report *report, int64_t time);

#endif
