/* SPDX-License-Identifier: MIT */
/*
 * A small recursive-descent reader of selectors.
 *
 * The reader moves one pointer over the text and stops at the first unexpected token; the error
 * says what was expected and shows the rest of the text. Values of labels are quoted with " or ',
 * with the escapes of PromQL (backslash, quote, n, t). Regular expressions are compiled once and
 * are bounded when they match (base/regex.h); as that engine ignores case and matches anywhere,
 * each is wrapped so that it respects case and matches the whole value, as PromQL does. The labels
 * of a series are read in the form of a page, where " is the only quote.
 */
#include "base/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/regex.h"

enum { MATCHERS_MOST = 16 };

struct matcher {
	char *label; /* owned; the value as well */
	char *value;
	bool negative;
	struct regex *regex; /* owned; NULL: the label must equal value */
};

struct series_selector {
	char *metric; /* owned */
	struct matcher matchers[MATCHERS_MOST];
	size_t count;
	struct regex_matcher *regexes; /* owned; NULL: no matcher needs it */
};

/* ---- reading ---- */

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " \t\r\n");
}

bool series_take(const char **at, const char *token)
{
	skip_blanks(at);
	if (strncmp(*at, token, strlen(token)) != 0) {
		return false;
	}
	*at += strlen(token);
	return true;
}

bool series_expected(struct etw_error *err, const char *what, const char *at)
{
	if (err && err->code == ETW_ERROR_NO_MEMORY) {
		return false;
	}
	return *at == '\0' ?
		       error_set(err, ETW_ERROR_CONFIG, "expected %s at the end", what) :
		       error_set(err, ETW_ERROR_CONFIG, "expected %s before \"%.40s\"", what, at);
}

static char *read_name(const char **at, bool colons, struct etw_error *err)
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
		error_no_memory(err, "a selector");
	}
	return name;
}

/* Reads a quoted text; NULL if there is none or memory runs out. The caller frees it. */
static char *read_quoted(const char **at, struct etw_error *err)
{
	struct etw_text out = { 0 };
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
			error_no_memory(err, "a selector");
		}
		text_free(&out);
		return NULL;
	}
	*at = c + 1;
	return out.data;
}

static bool compile(struct series_selector *selector, struct matcher *matcher,
		    struct etw_error *err)
{
	struct etw_text whole = { 0 };
	/* The value is compiled alone first, because "a)|(b" is valid only inside the wrapping. */
	struct regex *alone = regex_new(matcher->value, strlen(matcher->value), err);

	if (!alone) {
		return error_prefix(err, "\"%s\"", matcher->value);
	}
	regex_free(alone);
	text_add_format(&whole, "(?-i)\\A(?:%s)\\z", matcher->value);
	if (whole.failed) {
		return error_no_memory(err, "a selector");
	}
	matcher->regex = regex_new(whole.data, whole.size, err);
	text_free(&whole);
	if (matcher->regex && !selector->regexes) {
		selector->regexes = regex_matcher_new(err);
	}
	return matcher->regex && selector->regexes;
}

static bool read_matcher(struct series_selector *selector, const char **at, struct etw_error *err)
{
	struct matcher *matcher = &selector->matchers[selector->count];
	bool regex;

	if (selector->count == MATCHERS_MOST) {
		return error_set(err, ETW_ERROR_CONFIG, "more than %d matchers", MATCHERS_MOST);
	}
	matcher->label = read_name(at, false, err);
	if (!matcher->label) {
		return series_expected(err, "the name of a label", *at);
	}
	selector->count++;
	skip_blanks(at);
	regex = strncmp(*at, "=~", 2) == 0 || strncmp(*at, "!~", 2) == 0;
	matcher->negative = **at == '!';
	if (!regex && **at != '=' && strncmp(*at, "!=", 2) != 0) {
		return series_expected(err, "=, !=, =~ or !~", *at);
	}
	*at += regex || matcher->negative ? 2 : 1;
	matcher->value = read_quoted(at, err);
	if (!matcher->value) {
		return series_expected(err, "a value in quotes", *at);
	}
	return !regex || compile(selector, matcher, err);
}

static bool read_labels(struct series_selector *selector, const char **at, struct etw_error *err)
{
	if (!series_take(at, "{")) {
		return true;
	}
	while (!series_take(at, "}")) {
		if (!read_matcher(selector, at, err)) {
			return false;
		}
		if (!series_take(at, ",")) {
			return series_take(at, "}") || series_expected(err, "\",\" or \"}\"", *at);
		}
	}
	return true;
}

struct series_selector *series_selector_read(const char **at, struct etw_error *err)
{
	struct series_selector *selector = calloc(1, sizeof *selector);

	if (!selector) {
		error_no_memory(err, "a selector");
		return NULL;
	}
	selector->metric = read_name(at, true, err);
	if (!selector->metric) {
		series_expected(err, "the name of a series", *at);
	}
	if (!selector->metric || !read_labels(selector, at, err)) {
		series_selector_free(selector);
		return NULL;
	}
	skip_blanks(at);
	return selector;
}

struct series_selector *series_selector_of(const char *text, struct etw_error *err)
{
	struct series_selector *selector = series_selector_read(&text, err);

	if (selector && *text != '\0') {
		series_expected(err, "nothing more", text);
		series_selector_free(selector);
		return NULL;
	}
	return selector;
}

void series_selector_free(struct series_selector *selector)
{
	if (!selector) {
		return;
	}
	for (size_t i = 0; i < selector->count; i++) {
		free(selector->matchers[i].label);
		free(selector->matchers[i].value);
		regex_free(selector->matchers[i].regex);
	}
	regex_matcher_free(selector->regexes);
	free(selector->metric);
	free(selector);
}

const char *series_selector_name(const struct series_selector *selector)
{
	return selector->metric;
}

const char *series_selector_label(const struct series_selector *selector, size_t index)
{
	return index < selector->count ? selector->matchers[index].label : NULL;
}

/* ---- labels of a page ---- */

bool series_next_label(const char **at, struct etw_text *name, struct etw_text *value)
{
	const char *c = *at;
	size_t size;

	text_clear(name);
	text_clear(value);
	c += *c == ',';
	size = strcspn(c, "=");
	if (c[size] != '=' || c[size + 1] != '"') {
		return false;
	}
	text_add(name, c, size);
	text_add_string(value, "");
	for (c += size + 2; *c != '\0' && *c != '"'; c++) {
		if (*c == '\\' && c[1] != '\0') {
			c++;
			text_add_char(value, *c == 'n' ? '\n' : *c);
		} else {
			text_add_char(value, *c);
		}
	}
	*at = *c == '"' ? c + 1 : c;
	if (name->failed || value->failed) {
		memory_note_loss();
	}
	return true;
}

bool series_find_label(const char *labels, const char *name, struct etw_text *value)
{
	struct etw_text key = { 0 };
	bool found = false;

	while (!found && series_next_label(&labels, &key, value)) {
		found = key.data && strcmp(key.data, name) == 0;
	}
	if (!found) {
		text_clear(value);
	}
	text_add_string(value, "");
	value->failed |= key.failed;
	text_free(&key);
	return !value->failed;
}

static bool matches(const struct series_selector *selector, const struct matcher *matcher,
		    const char *value)
{
	bool equal = matcher->regex ? regex_matches(selector->regexes, matcher->regex, value,
						    strlen(value)) :
				      strcmp(value, matcher->value) == 0;

	return equal != matcher->negative;
}

bool series_selector_matches(const struct series_selector *selector, const char *labels)
{
	struct etw_text value = { 0 };
	bool all = true;

	for (size_t i = 0; i < selector->count && all; i++) {
		const struct matcher *matcher = &selector->matchers[i];

		all = series_find_label(labels, matcher->label, &value) &&
		      matches(selector, matcher, value.data);
	}
	text_free(&value);
	return all;
}

bool series_selector_accepts(const struct series_selector *selector, series_label_value *value_of,
			     const void *series)
{
	bool all = true;

	for (size_t i = 0; i < selector->count && all; i++) {
		const struct matcher *matcher = &selector->matchers[i];

		all = matches(selector, matcher, value_of(series, matcher->label));
	}
	return all;
}
