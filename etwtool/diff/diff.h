/* SPDX-License-Identifier: MIT */
/*
 * Compares two recordings (etwtool diff): rows and conditions on them (diff_rows.c), which
 * tool_diff.c shows. One thread uses it.
 */
#ifndef ETWTOOL_DIFF_DIFF_H
#define ETWTOOL_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include <etw/source.h>

#include "base/error.h"
#include "base/text.h"
#include "etwtool/page_series.h"
#include "etwtool/recording.h"
#include "exporter/rules/language/rule_set.h"

/* ---- a condition ---- */

/*
 * Conditions on the comparison of two recordings: `etwtool diff --fail-if`.
 *
 *     etw_file_written_bytes_total{process="sqlservr",volume!="D:"} > +20 %
 *     sum(etw_process_exits_total{result=~"crash|error"}) >= 1
 *
 * A condition begins with a selector (base/series.h). With sum(…) all selected series are added
 * first. Without it each series is judged by itself, and the condition holds if it holds for one of
 * them. A comparison follows: > >= < <= == !=, and a number or a percentage. A number is compared
 * with the value in B, a percentage with the change from A to B.
 */

struct fail_if; /* opaque */

/*
 * Parses a condition, which the caller frees. Returns NULL if the text is wrong; err says what and
 * where.
 */
struct fail_if *fail_if_parse(const char *text, struct etw_error *err);
void fail_if_free(struct fail_if *condition); /* NULL is allowed */

const char *fail_if_text(const struct fail_if *condition);
bool fail_if_sums(const struct fail_if *condition);
/*
 * The first returns the metric name that the selector requires. The second returns the label name
 * of its matcher at the index; NULL after the last.
 */
const char *fail_if_metric(const struct fail_if *condition);
const char *fail_if_label(const struct fail_if *condition, size_t index);

/* Returns whether the condition selects a series with this name and these labels. */
bool fail_if_selects(const struct fail_if *condition, const char *name,
		     const struct series *series);

/*
 * Returns whether the comparison holds for the values in A and B. NaN means that a value does not
 * exist; no comparison with it holds.
 */
bool fail_if_holds(const struct fail_if *condition, double a, double b);

/* Returns the change from a to b in percent: 0 if both are 0, infinite if only a is 0. */
double percent_change(double a, double b);

/* ---- rows ---- */

struct diff_options {
	const char *metric, *process; /* show only rows that match; NULL: all */
	bool all;                     /* show rows that differ little or not at all, too */
	bool absolute;                /* do not divide counters by the duration */
	bool exact;                   /* print all digits in the table */
};

struct diff_side {
	const char *path; /* borrowed */
	struct record_times times;
	struct etw_source_statistics source;
};

/* The value of a series that a row compares. */
enum measure { VALUE, COUNT, SUM, MEAN, MEDIAN, HIGH, MEASURES };

struct diff_row {
	const struct series *series; /* points into the table */
	enum measure measure;
	double values[SIDES]; /* NaN: the side has no value */
	double weight;        /* sort key of the rows, greatest first */
};

/* A row name that a collector can produce, whether or not a recording has such a row. */
struct declared_name {
	char *name, *collector; /* owned */
	bool on;                /* whether the collector is on */
};

/* Zero-initialise it. */
struct declared_names {
	struct declared_name *rows; /* owned */
	size_t count, capacity;
};

struct diff {
	struct diff_options options;
	struct diff_side sides[SIDES];
	struct series_table table;
	struct diff_row *rows; /* diff_make_rows() allocates it, its caller frees it */
	size_t count;
	/* Counters are not divided: an option says so, or a recording has no duration. */
	bool absolute;
	struct declared_names declared;
};

/*
 * Makes and sorts the rows. The caller has set sides, table and absolute. Returns false without
 * memory.
 */
bool diff_make_rows(struct diff *diff, struct etw_error *err);

/* Sets name to the row's name: its family, and a suffix for what is compared ("…_p99"). */
void diff_row_name(const struct diff *diff, const struct diff_row *row, struct etw_text *name);

/* Returns whether the options show the row; name is working memory. */
bool diff_row_shown(const struct diff *diff, const struct diff_row *row, struct etw_text *name);
bool diff_row_differs(const struct diff_row *row);

/*
 * Sets *metric to whether any row, shown or not, matches the option `metric`, and *process to the
 * same for the option `process`. An option that is not set matches every row.
 */
void diff_find_patterns(const struct diff *diff, bool *metric, bool *process);

/* ---- all conditions ---- */

enum { CONDITIONS_MOST = 32 };

struct conditions {
	struct fail_if *rows[CONDITIONS_MOST]; /* owned */
	size_t count;
};

/*
 * Notes the names that the collectors of a set declare; a second call does nothing. Returns false
 * without memory.
 */
bool diff_declare(struct diff *diff, const struct rule_set *set, struct etw_error *err);
void diff_declared_done(struct declared_names *names);

/* Returns whether a condition selects nothing by mistake. diff_judge() then complains about it. */
bool diff_has_mistake(const struct diff *diff, const struct conditions *conditions);

/*
 * Judges the conditions by all rows, and complains about each condition that holds or that selects
 * nothing. Returns an exit status: TOOL_BAD_USAGE before TOOL_FAILED before TOOL_DONE.
 */
int diff_judge(const struct diff *diff, const struct conditions *conditions);

#endif
