/* SPDX-License-Identifier: MIT */
/*
 * Parses and evaluates a condition: a selector (base/series.h), optionally in sum(), and a
 * comparison. Only a comparison may follow a selector, so there is no precedence and no nesting
 * beyond one sum().
 */
#include "etwtool/diff/fail_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/series.h"

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
