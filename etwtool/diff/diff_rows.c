/* SPDX-License-Identifier: MIT */
/*
 * Makes the rows of a comparison: their values, their weights and their order.
 *
 * Recordings have different durations, so counters are divided by the time between the first and
 * the last record of their recording. Gauges show a state at the end and are compared directly. A
 * histogram becomes several rows: its count and its sum, which are counters, and mean, median and
 * 99th percentile, which are not divided.
 *
 * A table over all families mixes bytes, events and seconds, and sorting by the size of the change
 * would show only bytes. So the weight of a row is its change divided by the sum of all series of
 * its name, in the recording where that sum is greater. A process that doubles its writes and does
 * half of all writes thus weighs more than one that does a thousandth of them. Statistics of a
 * histogram cannot be added up; their weight is the relative change, multiplied by the share of the
 * series in all observations of the family. Rows are sorted by weight. Rows below one percent, or
 * without a change, are shown only if all rows are requested.
 */
#include "etwtool/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/memory.h"

#define WEIGHT_LEAST 0.01

static const struct {
	const char *suffix;
	bool adds_up; /* false: a statistic of a histogram */
} measures[MEASURES] = {
	[VALUE] = { "", true },      [COUNT] = { "_count", true }, [SUM] = { "_sum", true },
	[MEAN] = { "_mean", false }, [MEDIAN] = { "_p50", false }, [HIGH] = { "_p99", false },
};

static double value_of(const struct diff *diff, const struct series *series, enum measure measure,
		       unsigned number)
{
	const struct series_family *family = &diff->table.families[series->family];
	const struct series_side *side = &series->sides[number];
	double seconds = record_times_seconds(&diff->sides[number].times);
	double divisor = diff->absolute ? 1 : seconds;

	switch (measure) {
	case VALUE:
		return family->type == FAMILY_GAUGE ? side->value : side->value / divisor;
	case COUNT:
		return side->count / divisor;
	case SUM:
		return side->sum / divisor;
	case MEAN:
		return side->count > 0 ? side->sum / side->count : NAN;
	case MEDIAN:
		return series_quantile(family, side, 0.5);
	default:
		return series_quantile(family, side, 0.99);
	}
}

const char *measure_suffix(enum measure measure)
{
	return measures[measure].suffix;
}

bool diff_row_differs(const struct diff_row *row)
{
	return isnan(row->values[0]) != isnan(row->values[1]) ||
	       (!isnan(row->values[0]) && fabs(row->values[0] - row->values[1]) > 0);
}

double diff_or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

static double larger(const double values[SIDES])
{
	return fmax(fabs(diff_or_zero(values[0])), fabs(diff_or_zero(values[1])));
}

/* The sums over all series of a family. */
struct sums {
	double of[MEASURES][SIDES];
};

static void weigh(const struct diff *diff, struct diff_row *row, const struct sums *sums)
{
	double change = fabs(diff_or_zero(row->values[1]) - diff_or_zero(row->values[0]));
	double most = larger(row->values), share = 0;

	if (measures[row->measure].adds_up) {
		double whole = larger(sums->of[row->measure]);

		row->weight = whole > 0 ? change / whole : 0;
		return;
	}
	for (unsigned i = 0; i < SIDES; i++) {
		double all = sums->of[COUNT][i];

		if (all > 0) {
			share = fmax(share, value_of(diff, row->series, COUNT, i) / all);
		}
	}
	row->weight = share * (isnan(row->values[0]) != isnan(row->values[1]) ? 1 :
			       most > 0                                       ? change / most :
										0);
}

static void add_series(struct diff *diff, const struct series *series, struct sums *sums)
{
	bool histogram = diff->table.families[series->family].type == FAMILY_HISTOGRAM;
	enum measure first = histogram ? COUNT : VALUE, last = histogram ? HIGH : VALUE;

	for (enum measure m = first; m <= last; m++) {
		struct diff_row *row = &diff->rows[diff->count++];

		*row = (struct diff_row){ .series = series, .measure = m };
		for (unsigned side = 0; side < SIDES; side++) {
			row->values[side] = value_of(diff, series, m, side);
			sums->of[m][side] += fabs(diff_or_zero(row->values[side]));
		}
	}
}

const char *diff_row_family(const struct diff *diff, const struct diff_row *row)
{
	return diff->table.families[row->series->family].name;
}

void diff_row_name(const struct diff *diff, const struct diff_row *row, struct etw_text *name)
{
	text_clear(name);
	text_add_string(name, diff_row_family(diff, row));
	text_add_string(name, measures[row->measure].suffix);
	if (name->failed) {
		memory_note_loss();
	}
}

static const struct diff *sorted; /* global because qsort() has no context */

static int compare_rows(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	int order;

	if (x->weight < y->weight || x->weight > y->weight) {
		return x->weight < y->weight ? 1 : -1;
	}
	order = strcmp(diff_row_family(sorted, x), diff_row_family(sorted, y));
	if (order == 0) {
		order = strcmp(x->series->labels, y->series->labels);
	}
	return order != 0 ? order : (int)x->measure - (int)y->measure;
}

bool diff_make_rows(struct diff *diff, struct etw_error *err)
{
	const struct series_table *table = &diff->table;
	struct sums *sums = calloc(table->family_count + 1, sizeof *sums);

	diff->rows = calloc(table->count * MEASURES + 1, sizeof *diff->rows);
	if (!sums || !diff->rows) {
		free(sums);
		return error_no_memory(err, "the table");
	}
	for (size_t i = 0; i < table->count; i++) {
		add_series(diff, &table->rows[i], &sums[table->rows[i].family]);
	}
	for (size_t i = 0; i < diff->count; i++) {
		weigh(diff, &diff->rows[i], &sums[diff->rows[i].series->family]);
	}
	free(sums);
	sorted = diff;
	qsort(diff->rows, diff->count, sizeof *diff->rows, compare_rows);
	return true;
}

static bool matches_metric(const struct diff *diff, const struct diff_row *row,
			   struct etw_text *name)
{
	const char *pattern = diff->options.metric;

	if (!pattern) {
		return true;
	}
	diff_row_name(diff, row, name);
	return !name->failed && (glob_matches(pattern, name->data) ||
				 glob_matches(pattern, diff_row_family(diff, row)));
}

static bool matches_process(const struct diff *diff, const struct diff_row *row,
			    struct etw_text *name)
{
	const char *pattern = diff->options.process;

	if (!pattern) {
		return true;
	}
	series_label(row->series, "process", name);
	return !name->failed && name->size > 0 && glob_matches_nocase(pattern, name->data);
}

bool diff_row_shown(const struct diff *diff, const struct diff_row *row, struct etw_text *name)
{
	bool shown = diff->options.all || (diff_row_differs(row) && row->weight >= WEIGHT_LEAST &&
					   /* count and mean say more than the sum */
					   row->measure != SUM);

	return shown && matches_metric(diff, row, name) && matches_process(diff, row, name);
}

void diff_find_patterns(const struct diff *diff, bool *metric, bool *process)
{
	struct etw_text name = { 0 };

	*metric = *process = false;
	for (size_t i = 0; i < diff->count && !(*metric && *process); i++) {
		*metric |= matches_metric(diff, &diff->rows[i], &name);
		*process |= matches_process(diff, &diff->rows[i], &name);
	}
	text_free(&name);
}
