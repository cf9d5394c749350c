/* SPDX-License-Identifier: MIT */
/*
 * Conditions on a comparison: parses them, chooses the rows for each, and reports the result.
 *
 * A condition is judged by all rows, including those that the table leaves out. For CI the
 * difficult case is a condition that selects nothing. It can be a mistake, which would otherwise
 * let every build pass. Therefore these are errors: a metric that no collector declares, a metric
 * whose collector is off, and a label that no series of the metric has. It can also be the good
 * case, such as no crashed process in either recording; therefore a sum over no series is 0. A
 * condition on single series that do not exist is an error too, because a wrong label value looks
 * the same as a missing series.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"
#include "base/series.h"
#include "etwtool/diff/diff.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/collector.h"

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
	text_add_format(&name, "%s%s", metric->name, measure_suffix(measure));
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
		a += diff_or_zero(row->values[0]);
		b += diff_or_zero(row->values[1]);
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
