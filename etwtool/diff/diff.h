/* SPDX-License-Identifier: MIT */
/*
 * The comparison of two recordings (etwtool diff): rows (diff_rows.c), how they are printed
 * (diff_output.c), and conditions on them (diff_conditions.c). One thread.
 */
#ifndef ETWTOOL_DIFF_DIFF_H
#define ETWTOOL_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include <etw/source.h>

#include "base/error.h"
#include "base/text.h"
#include "etwtool/diff/fail_if.h"
#include "etwtool/page_series.h"
#include "etwtool/recording.h"
#include "exporter/rules/language/rule_set.h"

struct diff_options {
	const char *metric, *process; /* patterns of what is shown; NULL: all */
	bool all;                     /* also what differs little or not at all */
	bool absolute;                /* counters are not divided */
	bool exact;                   /* numbers of the table with all digits */
};

struct diff_side {
	const char *path; /* borrowed */
	struct record_times times;
	struct etw_source_statistics source;
};

/* What is compared of a series. */
enum measure { VALUE, COUNT, SUM, MEAN, MEDIAN, HIGH, MEASURES };

struct diff_row {
	const struct series *series; /* of the table */
	enum measure measure;
	double values[SIDES]; /* NaN: there is none */
	double weight;        /* rows are sorted by it, falling */
};

/* The name of a row that a collector can have, whether or not a recording has such a row. */
struct declared_name {
	char *name, *collector; /* owned */
	bool on;                /* the collector */
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
	struct diff_row *rows; /* owned by who calls diff_make_rows() */
	size_t count;
	bool absolute; /* counters are not divided: by the options, or a recording lasts no time */
	struct declared_names declared;
};

/* Makes and sorts the rows, when sides, table and absolute are there. False without memory. */
bool diff_make_rows(struct diff *diff, struct etw_error *err);

/* The name of the row's family; and of the row: the family and what is compared ("…_p99"). */
const char *diff_row_family(const struct diff *diff, const struct diff_row *row);
void diff_row_name(const struct diff *diff, const struct diff_row *row, struct etw_text *name);

/* What a name of a row ends in; "" for the value of a counter or gauge. */
const char *measure_suffix(enum measure measure);

/* Whether the options ask for the row; name is working memory. */
bool diff_row_shown(const struct diff *diff, const struct diff_row *row, struct etw_text *name);
bool diff_row_differs(const struct diff_row *row);

/* Whether any row, shown or not, has a name that the option `metric` matches, and a process that
 * `process` matches. True for an option that is not given, if there are rows. */
void diff_find_patterns(const struct diff *diff, bool *metric, bool *process);

/* A value that is not there as 0. */
double diff_or_zero(double value);

/* What makes a comparison with one side doubtful, a line each; nothing if there is no reason. */
void diff_add_doubt(struct etw_text *out, const struct diff *diff, unsigned number);

/* ---- conditions ---- */

enum { CONDITIONS_MOST = 32 };

struct conditions {
	struct fail_if *rows[CONDITIONS_MOST]; /* owned */
	size_t count;
};

/* Notes the names that the collectors of a set declare; a second call does nothing. False without
 * memory. */
bool diff_declare(struct diff *diff, const struct rule_set *set, struct etw_error *err);
void diff_declared_done(struct declared_names *names);

/* Whether a condition selects nothing by mistake, so that diff_judge() will say so. */
bool diff_has_mistake(const struct diff *diff, const struct conditions *conditions);

/* Judges the conditions by all rows, and complains about each that holds or that selects nothing.
 * Returns an exit status: TOOL_BAD_USAGE before TOOL_FAILED before TOOL_DONE. */
int diff_judge(const struct diff *diff, const struct conditions *conditions);

/* ---- output ---- */

void diff_add_text(struct etw_text *out, const struct diff *diff);
void diff_add_json(struct etw_text *out, const struct diff *diff);
void diff_add_csv(struct etw_text *out, const struct diff *diff);

#endif
