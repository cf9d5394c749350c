/* SPDX-License-Identifier: MIT */
/*
 * A small recursive-descent reader of conditions (fail_if.h), and their evaluation.
 *
 * The reader moves one pointer over the text and stops at the first thing that it does not expect;
 * the sentence then says what was expected and shows the rest of the text. Only a comparison may
 * follow a selector, so there is no precedence and no nesting beyond one sum(). Values of labels
 * are quoted with " or ', with the escapes of PromQL (backslash, quote, n, t). Regular expressions
 * are compiled once, with the engine of the rules, which is bounded; as it ignores case and matches
 * anywhere, each is wrapped so that it respects case and matches the whole value, as PromQL does.
 */
#include "tool/fail_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules/language/regex.h"

enum { MATCHERS_MOST = 16 };

enum comparison_sign { ABOVE, AT_LEAST, BELOW, AT_MOST, EQUAL, OTHER, SIGN_COUNT };

/* The longer of two that begin alike comes first. */
static const struct {
	const char *text;
	enum comparison_sign sign;
} signs[] = { { ">=", AT_LEAST }, { "<=", AT_MOST }, { "==", EQUAL },
	      { "!=", OTHER },    { ">", ABOVE },    { "<", BELOW } };

struct matcher {
	char *label; /* owned, as is the value */
	char *value;
	bool negative;
	struct regex *regex; /* owned; NULL: the value itself */
};

struct fail_if {
	char *text;   /* owned */
	char *metric; /* owned */
	bool sum;
	struct matcher matchers[MATCHERS_MOST];
	size_t matcher_count;
	struct regex_matcher *regexes; /* owned; NULL: no matcher needs it */
	enum comparison_sign sign;
	double number;
	bool percent;
};

/* ---- reading ---- */

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " \t\r\n");
}

static bool take(const char **at, const char *token)
{
	skip_blanks(at);
	if (strncmp(*at, token, strlen(token)) != 0) {
		return false;
	}
	*at += strlen(token);
	return true;
}

/* Without memory for what is there, err says so already. */
static bool expected(struct error *err, const char *what, const char *at)
{
	if (err->code == ERROR_NO_MEMORY) {
		return false;
	}
	return *at == '\0' ? error_set(err, ERROR_CONFIG, "expected %s at the end", what) :
			     error_set(err, ERROR_CONFIG, "expected %s before \"%.40s\"", what, at);
}

static char *read_name(const char **at, bool colons, struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789:";
	const char *start;
	char *name;
	size_t size;

	skip_blanks(at);
	start = *at;
	size = strspn(start, letters) == 0 ? 0 : strspn(start, more);
	if (!colons && memchr(start, ':', size)) {
		return NULL;
	}
	if (size == 0) {
		return NULL;
	}
	*at += size;
	name = text_duplicate(start, size);
	if (!name) {
		error_no_memory(err, "a condition");
	}
	return name;
}

/* A quoted text; NULL: there is none, or no memory. */
static char *read_quoted(const char **at, struct error *err)
{
	struct text out = { 0 };
	const char *c;
	char quote;

	skip_blanks(at);
	c = *at;
	quote = *c;
	if (quote != '"' && quote != '\'') {
		return NULL;
	}
	text_add_string(&out, "");
	for (c++; *c != '\0' && *c != quote; c++) {
		if (*c == '\\' && c[1] != '\0') {
			c++;
			text_add_char(&out, *c == 'n' ? '\n' : *c == 't' ? '\t' : *c);
		} else {
			text_add_char(&out, *c);
		}
	}
	if (*c != quote || out.failed) {
		if (out.failed) {
			error_no_memory(err, "a condition");
		}
		text_free(&out);
		return NULL;
	}
	*at = c + 1;
	return out.data;
}

static bool compile(struct fail_if *condition, struct matcher *matcher, struct error *err)
{
	struct text whole = { 0 };
	/* By itself first: "a)|(b" would only be an expression inside the wrapping. */
	struct regex *alone = regex_new(matcher->value, strlen(matcher->value), err);

	if (!alone) {
		return error_prefix(err, "\"%s\"", matcher->value);
	}
	regex_free(alone);
	text_add_format(&whole, "(?-i)\\A(?:%s)\\z", matcher->value);
	if (whole.failed) {
		return error_no_memory(err, "a condition");
	}
	matcher->regex = regex_new(whole.data, whole.size, err);
	text_free(&whole);
	if (matcher->regex && !condition->regexes) {
		condition->regexes = regex_matcher_new(err);
	}
	return matcher->regex && condition->regexes;
}

static bool read_matcher(struct fail_if *condition, const char **at, struct error *err)
{
	struct matcher *matcher = &condition->matchers[condition->matcher_count];
	bool regex;

	if (condition->matcher_count == MATCHERS_MOST) {
		return error_set(err, ERROR_CONFIG, "more than %d matchers", MATCHERS_MOST);
	}
	matcher->label = read_name(at, false, err);
	if (!matcher->label) {
		return expected(err, "the name of a label", *at);
	}
	condition->matcher_count++;
	skip_blanks(at);
	regex = strncmp(*at, "=~", 2) == 0 || strncmp(*at, "!~", 2) == 0;
	matcher->negative = **at == '!';
	if (!regex && **at != '=' && strncmp(*at, "!=", 2) != 0) {
		return expected(err, "=, !=, =~ or !~", *at);
	}
	*at += regex || matcher->negative ? 2 : 1;
	matcher->value = read_quoted(at, err);
	if (!matcher->value) {
		return expected(err, "a value in quotes", *at);
	}
	return !regex || compile(condition, matcher, err);
}

static bool read_selector(struct fail_if *condition, const char **at, struct error *err)
{
	condition->metric = read_name(at, true, err);
	if (!condition->metric) {
		return expected(err, "the name of a series", *at);
	}
	if (strcmp(condition->metric, "sum") == 0 && !condition->sum && take(at, "(")) {
		free(condition->metric);
		condition->metric = NULL;
		condition->sum = true;
		return read_selector(condition, at, err) &&
		       (take(at, ")") || expected(err, "\")\"", *at));
	}
	if (!take(at, "{")) {
		return true;
	}
	while (!take(at, "}")) {
		if (!read_matcher(condition, at, err)) {
			return false;
		}
		if (!take(at, ",")) {
			return take(at, "}") || expected(err, "\",\" or \"}\"", *at);
		}
	}
	return true;
}

static bool read_comparison(struct fail_if *condition, const char **at, struct error *err)
{
	size_t i = 0;
	char *end;

	while (i < sizeof signs / sizeof signs[0] && !take(at, signs[i].text)) {
		i++;
	}
	if (i == sizeof signs / sizeof signs[0]) {
		return expected(err, "a comparison (> >= < <= == !=)", *at);
	}
	condition->sign = signs[i].sign;
	skip_blanks(at);
	condition->number = strtod(*at, &end);
	/* strtod() also reads "nan", "inf" and hexadecimal numbers. */
	if (end == *at || !isfinite(condition->number) ||
	    memcmp(*at + strspn(*at, "+-.0123456789eE"), end, 1) != 0) {
		return expected(err, "a number", *at);
	}
	*at = end;
	condition->percent = take(at, "%");
	skip_blanks(at);
	return **at == '\0' || expected(err, "nothing more", *at);
}

struct fail_if *fail_if_parse(const char *text, struct error *err)
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
	for (size_t i = 0; i < condition->matcher_count; i++) {
		free(condition->matchers[i].label);
		free(condition->matchers[i].value);
		regex_free(condition->matchers[i].regex);
	}
	regex_matcher_free(condition->regexes);
	free(condition->text);
	free(condition->metric);
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
	return condition->metric;
}

const char *fail_if_label(const struct fail_if *condition, size_t index)
{
	return index < condition->matcher_count ? condition->matchers[index].label : NULL;
}

/* ---- evaluation ---- */

static bool matches(const struct fail_if *condition, const struct matcher *matcher,
		    const struct series *series, struct text *value)
{
	bool equal;

	series_label(series, matcher->label, value);
	if (value->failed) {
		return false;
	}
	equal = matcher->regex ? regex_matches(condition->regexes, matcher->regex, value->data,
					       value->size) :
				 strcmp(value->data, matcher->value) == 0;
	return equal != matcher->negative;
}

bool fail_if_selects(const struct fail_if *condition, const char *name, const struct series *series)
{
	struct text value = { 0 };
	bool all = strcmp(condition->metric, name) == 0;

	for (size_t i = 0; i < condition->matcher_count && all; i++) {
		all = matches(condition, &condition->matchers[i], series, &value);
	}
	text_free(&value);
	return all;
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
