/* SPDX-License-Identifier: MIT */
/*
 * The comparison of two recordings (etwtool diff): rows (diff_rows.c) and how they are printed
 * (diff_output.c). One thread.
 */
#ifndef TOOL_DIFF_H
#define TOOL_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "source/source.h"
#include "tool/recording.h"
#include "tool/page_series.h"

struct diff_options {
	const char *metric, *process; /* patterns of what is shown; NULL: all */
	bool all;                     /* also what differs little or not at all */
	bool absolute;                /* counters are not divided */
};

struct diff_side {
	const char *path; /* borrowed */
	struct record_times times;
	struct source_statistics source;
};

/* What is compared of a series. */
enum measure { VALUE, COUNT, SUM, MEAN, MEDIAN, HIGH, MEASURES };

struct diff_row {
	const struct series *series; /* of the table */
	enum measure measure;
	double values[SIDES]; /* NaN: there is none */
	double weight;        /* rows are sorted by it, falling */
};

struct diff {
	struct diff_options options;
	struct diff_side sides[SIDES];
	struct series_table table;
	struct diff_row *rows; /* owned by who calls diff_make_rows() */
	size_t count;
	bool absolute; /* counters are not divided: by the options, or a recording lasts no time */
};

/* Makes and sorts the rows, when sides, table and absolute are there. False without memory. */
bool diff_make_rows(struct diff *diff, struct error *err);

/* The name of the row's family; and of the row: the family and what is compared ("…_p99"). */
const char *diff_row_family(const struct diff *diff, const struct diff_row *row);
void diff_row_name(const struct diff *diff, const struct diff_row *row, struct text *name);

/* Whether the options ask for the row; name is working memory. */
bool diff_row_shown(const struct diff *diff, const struct diff_row *row, struct text *name);
bool diff_row_differs(const struct diff_row *row);

/* A value that is not there as 0. */
double diff_or_zero(double value);

/* What makes a comparison with one side doubtful, a line each; nothing if there is no reason. */
void diff_add_doubt(struct text *out, const struct diff *diff, unsigned number);

void diff_add_text(struct text *out, const struct diff *diff);
void diff_add_json(struct text *out, const struct diff *diff);
void diff_add_csv(struct text *out, const struct diff *diff);

#endif
