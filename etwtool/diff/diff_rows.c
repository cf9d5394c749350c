/* SPDX-License-Identifier: MIT */
/*
 * Makes the rows of a comparison (their values, their weights and their order), and judges
 * conditions on them.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/series.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/collector.h"

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

bool diff_row_differs(const struct diff_row *row)
{
	return isnan(row->values[0]) != isnan(row->values[1]) ||
	       (!isnan(row->values[0]) && fabs(row->values[0] - row->values[1]) > 0);
}

static double zero_if_nan(double value)
{
	return isnan(value) ? 0 : value;
}

static double larger(const double values[SIDES])
{
	return fmax(fabs(zero_if_nan(values[0])), fabs(zero_if_nan(values[1])));
}

/* The sums over all series of a family. */
struct sums {
	double of[MEASURES][SIDES];
};

static void weigh(const struct diff *diff, struct diff_row *row, const struct sums *sums)
{
	double change = fabs(zero_if_nan(row->values[1]) - zero_if_nan(row->values[0]));
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
			sums->of[m][side] += fabs(zero_if_nan(row->values[side]));
		}
	}
}

static const char *family_of(const struct diff *diff, const struct diff_row *row)
{
	return diff->table.families[row->series->family].name;
}

void diff_row_name(const struct diff *diff, const struct diff_row *row, struct etw_text *name)
{
	text_clear(name);
	text_add_string(name, family_of(diff, row));
	text_add_string(name, measures[row->measure].suffix);
	if (name->failed) {
		memory_note_loss();
	}
}

static const struct diff *sorted; /* global because a comparison has no context */

static int compare_rows(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	int order;

	if (x->weight < y->weight || x->weight > y->weight) {
		return x->weight < y->weight ? 1 : -1;
	}
	order = strcmp(family_of(sorted, x), family_of(sorted, y));
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
	sort_items(diff->rows, diff->count, sizeof *diff->rows, compare_rows);
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
	return !name->failed &&
	       (glob_matches(pattern, name->data) || glob_matches(pattern, family_of(diff, row)));
}

static bool matches_process(const struct diff *diff, const struct diff_row *row,
			    struct etw_text *name)
{
	const char *pattern = diff->options.process;

	if (!pattern) {
		return true;
	}
	series_find_label(row->series->labels, "process", name);
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

/* ---- conditions ---- */

/*
 * Parses conditions, chooses the rows for each, and reports the result.
 *
 * A condition is judged by all rows, including those that the table leaves out. For CI the
 * difficult case is a condition that selects nothing. It can be a mistake, which would otherwise
 * let every build pass. Therefore these are errors: a metric that no collector declares, a metric
 * whose collector is off, and a label that no series of the metric has. It can also be the good
 * case, such as no crashed process in either recording; therefore a sum over no series is 0. A
 * condition on single series that do not exist is an error too, because a wrong label value looks
 * the same as a missing series.
 */

/* ---- one condition ---- */

/*
 * Parses and evaluates a condition: a selector (base/series.h), optionally in sum(), and a
 * comparison. Only a comparison may follow a selector, so there is no precedence and no nesting
 * beyond one sum().
 */

enum comparison_sign { ABOVE, AT_LEAST, BELOW, AT_MOST, EQUAL, OTHER, SIGN_COUNT };

/* Of two operators with the same first character the longer one comes first. */
static const struct {
	const char *text;
	enum comparison_sign sign;
} signs[] = { { ">=", AT_LEAST }, { "<=", AT_MOST }, { "==", EQUAL },
	      { "!=", OTHER },    { ">", ABOVE },    { "<", BELOW } };

struct fail_if {
	char *text;                       /* owned */
	struct series_selector *selector; /* owned */
	bool sum;
	enum comparison_sign sign;
	double number;
	bool percent;
};

/* ---- reading ---- */

static bool read_selector(struct fail_if *condition, const char **at, struct etw_error *err)
{
	const char *inner = *at;

	condition->sum = series_take(&inner, "sum") && series_take(&inner, "(");
	if (condition->sum) {
		*at = inner;
	}
	condition->selector = series_selector_read(at, err);
	return condition->selector &&
	       (!condition->sum || series_take(at, ")") || series_expected(err, "\")\"", *at));
}

static bool read_comparison(struct fail_if *condition, const char **at, struct etw_error *err)
{
	size_t i = 0;
	char *end;

	while (i < sizeof signs / sizeof signs[0] && !series_take(at, signs[i].text)) {
		i++;
	}
	if (i == sizeof signs / sizeof signs[0]) {
		return series_expected(err, "a comparison (> >= < <= == !=)", *at);
	}
	condition->sign = signs[i].sign;
	series_take(at, "");
	condition->number = strtod(*at, &end);
	/* This rejects "nan", "inf" and hexadecimal numbers, which strtod() also reads. */
	if (end == *at || !isfinite(condition->number) ||
	    memcmp(*at + strspn(*at, "+-.0123456789eE"), end, 1) != 0) {
		return series_expected(err, "a number", *at);
	}
	*at = end;
	condition->percent = series_take(at, "%");
	series_take(at, "");
	return **at == '\0' || series_expected(err, "nothing more", *at);
}

struct fail_if *fail_if_parse(const char *text, struct etw_error *err)
{
	struct fail_if *condition = calloc(1, sizeof *condition);
	const char *at = text;

	if (condition) {
		condition->text = text_duplicate(text, strlen(text));
	}
	if (!condition || !condition->text) {
		error_no_memory(err, "a condition");
		fail_if_free(condition);
		return NULL;
	}
	if (!read_selector(condition, &at, err) || !read_comparison(condition, &at, err)) {
		fail_if_free(condition);
		return NULL;
	}
	return condition;
}

void fail_if_free(struct fail_if *condition)
{
	if (!condition) {
		return;
	}
	series_selector_free(condition->selector);
	free(condition->text);
	free(condition);
}

const char *fail_if_text(const struct fail_if *condition)
{
	return condition->text;
}

bool fail_if_sums(const struct fail_if *condition)
{
	return condition->sum;
}

const char *fail_if_metric(const struct fail_if *condition)
{
	return series_selector_name(condition->selector);
}

const char *fail_if_label(const struct fail_if *condition, size_t index)
{
	return series_selector_label(condition->selector, index);
}

/* ---- evaluation ---- */

bool fail_if_selects(const struct fail_if *condition, const char *name, const struct series *series)
{
	return strcmp(series_selector_name(condition->selector), name) == 0 &&
	       series_selector_matches(condition->selector, series->labels);
}

double percent_change(double a, double b)
{
	if (a == b) {
		return 0;
	}
	return a == 0 ? copysign(INFINITY, b) : 100 * (b - a) / fabs(a);
}

bool fail_if_holds(const struct fail_if *condition, double a, double b)
{
	double value = condition->percent ? percent_change(a, b) : b;

	if (isnan(value)) {
		return false;
	}
	switch (condition->sign) {
	case ABOVE:
		return value > condition->number;
	case AT_LEAST:
		return value >= condition->number;
	case BELOW:
		return value < condition->number;
	case AT_MOST:
		return value <= condition->number;
	case EQUAL:
		return value == condition->number;
	default:
		return value != condition->number;
	}
}

/* ---- names that there could be ---- */

static bool add_declared(struct declared_names *names, const struct metric *metric,
			 enum measure measure, const struct collector_info *info)
{
	struct declared_name *grown =
		array_grow(names->rows, &names->capacity, names->count, sizeof *grown);
	struct etw_text name = { 0 };

	if (!grown) {
		return false;
	}
	names->rows = grown;
	grown = &grown[names->count++];
	text_add_format(&name, "%s%s", metric->name, measures[measure].suffix);
	*grown =
		(struct declared_name){ .name = name.failed ? NULL :
							      text_duplicate(name.data, name.size),
					.collector = text_duplicate(info->name, strlen(info->name)),
					.on = info->on };
	text_free(&name);
	return grown->name && grown->collector;
}

bool diff_declare(struct diff *diff, const struct rule_set *set, struct etw_error *err)
{
	bool good = true;

	if (diff->declared.count > 0) {
		return true;
	}
	for (size_t i = 0; i < set->collector_count; i++) {
		const struct collector *collector = set->collectors[i];

		for (size_t k = 0; k < collector->metric_count; k++) {
			const struct metric *metric = &collector->metrics[k];
			bool histogram = metric->type == FAMILY_HISTOGRAM;

			for (enum measure measure = histogram ? COUNT : VALUE;
			     measure <= (histogram ? HIGH : VALUE); measure++) {
				good = good && add_declared(&diff->declared, metric, measure,
							    &set->infos[i]);
			}
		}
	}
	return good || error_no_memory(err, "the names of metrics");
}

void diff_declared_done(struct declared_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->rows[i].name);
		free(names->rows[i].collector);
	}
	free(names->rows);
	*names = (struct declared_names){ .rows = NULL };
}

/*
 * Finds the declaration of a name, preferably one by a collector that is on; NULL if nothing
 * declares it.
 */
static const struct declared_name *find_declared(const struct declared_names *names,
						 const char *name)
{
	const struct declared_name *found = NULL;

	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->rows[i].name, name) == 0 && (!found || !found->on)) {
			found = &names->rows[i];
		}
	}
	return found;
}

enum { NEAR_SIZE = 65 }; /* a longer word gets no suggestion */

/*
 * Returns whether the series has the label. If nearest is not NULL, tries the other labels as
 * suggestions and copies the nearest to best.
 */
static bool has_label(const struct series *series, const char *label, struct nearest *nearest,
		      char best[NEAR_SIZE])
{
	const char *at = series->labels;
	struct etw_text name = { 0 }, value = { 0 };
	bool found = false;

	while (!found && series_next_label(&at, &name, &value)) {
		found = name.data && strcmp(name.data, label) == 0;
		if (nearest && name.data) {
			nearest_offer(nearest, name.data);
		}
		if (nearest && nearest->best == name.data) {
			snprintf(best, NEAR_SIZE, "%s", name.data);
			nearest->best = best;
		}
	}
	text_free(&name);
	text_free(&value);
	return found;
}

/*
 * Returns how many rows have the metric of a condition, and also the label if that is not NULL.
 * nearest and best are those of has_label().
 */
static size_t rows_of(const struct diff *diff, const struct fail_if *condition, const char *label,
		      struct nearest *nearest, char best[NEAR_SIZE])
{
	struct etw_text name = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < diff->count; i++) {
		diff_row_name(diff, &diff->rows[i], &name);
		count += !name.failed && strcmp(name.data, fail_if_metric(condition)) == 0 &&
			 (!label || has_label(diff->rows[i].series, label, nearest, best));
	}
	text_free(&name);
	return count;
}

/* ---- a condition that selects nothing ---- */

enum { SENTENCE_SIZE = 512 };

static bool is_wrong_metric(const struct diff *diff, const struct fail_if *condition,
			    char sentence[SENTENCE_SIZE])
{
	const char *metric = fail_if_metric(condition);
	const struct declared_name *declared = find_declared(&diff->declared, metric);
	struct nearest nearest = { .word = metric, .size = strlen(metric) };

	if (declared && declared->on) {
		return false;
	}
	if (declared) {
		snprintf(sentence, SENTENCE_SIZE,
			 "the collector of this metric is off: --collector.%s switches it on",
			 declared->collector);
		return true;
	}
	for (size_t i = 0; i < diff->declared.count; i++) {
		nearest_offer(&nearest, diff->declared.rows[i].name);
	}
	for (size_t i = 0; i < diff->table.family_count; i++) {
		/* the row names of a histogram have suffixes */
		if (diff->table.families[i].type != FAMILY_HISTOGRAM) {
			nearest_offer(&nearest, diff->table.families[i].name);
		}
	}
	snprintf(sentence, SENTENCE_SIZE, "no collector has the metric '%s'%s%s%s", metric,
		 nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
		 nearest.best ? "'?" : "");
	return true;
}

static bool is_wrong_label(const struct diff *diff, const struct fail_if *condition,
			   const char *label, char sentence[SENTENCE_SIZE])
{
	struct nearest nearest = { .word = label, .size = strlen(label) };
	char best[NEAR_SIZE];

	if (rows_of(diff, condition, label, &nearest, best) > 0) {
		return false;
	}
	snprintf(sentence, SENTENCE_SIZE, "no series of the metric has the label '%s'%s%s%s", label,
		 nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
		 nearest.best ? "'?" : "");
	return true;
}

/*
 * Returns whether it is a mistake that a condition selects nothing; false for a sum, whose value is
 * 0.
 */
static bool is_mistake(const struct diff *diff, const struct fail_if *condition,
		       char sentence[SENTENCE_SIZE])
{
	const char *label;

	if (rows_of(diff, condition, NULL, NULL, NULL) == 0) {
		if (is_wrong_metric(diff, condition, sentence)) {
			return true;
		}
	} else {
		for (size_t i = 0; (label = fail_if_label(condition, i)) != NULL; i++) {
			if (is_wrong_label(diff, condition, label, sentence)) {
				return true;
			}
		}
	}
	snprintf(sentence, SENTENCE_SIZE,
		 "neither recording has such a series (only sum(…) of none is 0)");
	return !fail_if_sums(condition);
}

/* ---- judgement ---- */

static void say_held(const struct fail_if *condition, const struct diff *diff,
		     const struct diff_row *row, double a, double b)
{
	struct etw_text name = { 0 };

	text_add_string(&name, "all selected series together");
	if (row) {
		diff_row_name(diff, row, &name);
		text_add_format(&name, "{%.300s}", row->series->labels);
	}
	tool_complain(TOOL_FAILED, "diff", "%s holds: %s was %.15g in A and is %.15g in B",
		      fail_if_text(condition), name.failed ? "a series" : name.data, a, b);
	text_free(&name);
}

/* Judges one condition; returns an exit status. */
static int judge(const struct fail_if *condition, const struct diff *diff)
{
	struct etw_text name = { 0 };
	char sentence[SENTENCE_SIZE];
	double a = 0, b = 0;
	size_t selected = 0;
	int status = TOOL_DONE;

	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_row *row = &diff->rows[i];

		diff_row_name(diff, row, &name);
		if (name.failed || !fail_if_selects(condition, name.data, row->series)) {
			continue;
		}
		a += zero_if_nan(row->values[0]);
		b += zero_if_nan(row->values[1]);
		selected++;
		if (!fail_if_sums(condition) &&
		    fail_if_holds(condition, row->values[0], row->values[1])) {
			status = TOOL_FAILED;
			say_held(condition, diff, row, row->values[0], row->values[1]);
		}
	}
	text_free(&name);
	if (selected == 0 && is_mistake(diff, condition, sentence)) {
		status = tool_complain(TOOL_BAD_USAGE, "diff", "--fail-if %s: %s",
				       fail_if_text(condition), sentence);
	}
	if (status == TOOL_DONE && fail_if_sums(condition) && fail_if_holds(condition, a, b)) {
		status = TOOL_FAILED;
		say_held(condition, diff, NULL, a, b);
	}
	return status;
}

/* Returns whether a condition selects a row. */
static bool selects_any(const struct fail_if *condition, const struct diff *diff)
{
	struct etw_text name = { 0 };
	bool selects = false;

	for (size_t i = 0; !selects && i < diff->count; i++) {
		diff_row_name(diff, &diff->rows[i], &name);
		selects = !name.failed &&
			  fail_if_selects(condition, name.data, diff->rows[i].series);
	}
	text_free(&name);
	return selects;
}

bool diff_has_mistake(const struct diff *diff, const struct conditions *conditions)
{
	char sentence[SENTENCE_SIZE];
	bool mistake = false;

	for (size_t i = 0; !mistake && i < conditions->count; i++) {
		mistake = !selects_any(conditions->rows[i], diff) &&
			  is_mistake(diff, conditions->rows[i], sentence);
	}
	return mistake;
}

int diff_judge(const struct diff *diff, const struct conditions *conditions)
{
	int status = TOOL_DONE;

	for (size_t i = 0; i < conditions->count; i++) {
		int one = judge(conditions->rows[i], diff);

		status = one > status ? one : status; /* TOOL_BAD_USAGE is the highest status */
	}
	return status;
}
