/* SPDX-License-Identifier: MIT */
#include "base/series.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What is left of a text. */
struct rest {
	const char *at, *end;
};

static void skip_blanks(struct rest *rest)
{
	while (rest->at < rest->end && (*rest->at == ' ' || *rest->at == '\t')) {
		rest->at++;
	}
}

static bool take(struct rest *rest, char c)
{
	bool there = rest->at < rest->end && *rest->at == c;

	rest->at += there;
	return there;
}

/* Letters, digits, underscores and colons, of which a digit is not the first. */
static size_t name_size(const struct rest *rest)
{
	size_t size = 0;

	while (rest->at + size < rest->end) {
		unsigned char c = (unsigned char)rest->at[size];

		if (!isalpha(c) && c != '_' && c != ':' && (size == 0 || !isdigit(c))) {
			break;
		}
		size++;
	}
	return size;
}

static char *take_name(struct rest *rest)
{
	size_t size = name_size(rest);
	char *name = size > 0 ? text_duplicate(rest->at, size) : NULL;

	rest->at += size;
	return name;
}

/* A text in quotes; \\, \" and \n are escapes. False: it has no end. */
static bool take_quoted(struct rest *rest, struct text *value)
{
	if (!take(rest, '"')) {
		return false;
	}
	while (rest->at < rest->end && *rest->at != '"') {
		char c = *rest->at++;

		if (c == '\\' && rest->at < rest->end) {
			c = *rest->at++;
			c = c == 'n' ? '\n' : c;
		}
		text_add_char(value, c);
	}
	text_add(value, "", 0);
	return take(rest, '"') && !value->failed;
}

static bool parse_label(struct rest *rest, struct series_label *label, struct error *err)
{
	struct text value = { 0 };

	skip_blanks(rest);
	label->name = take_name(rest);
	skip_blanks(rest);
	label->differs = take(rest, '!');
	if (!label->name || !take(rest, '=')) {
		return error_set(err, ERROR_CONFIG,
				 "a label is written NAME=\"VALUE\" or NAME!=\"VALUE\"");
	}
	skip_blanks(rest);
	if (!take_quoted(rest, &value)) {
		text_free(&value);
		return error_set(err, ERROR_CONFIG, "the value of label %s is not in quotes",
				 label->name);
	}
	skip_blanks(rest);
	label->value = value.data ? value.data : text_duplicate("", 0);
	return label->value || error_no_memory(err, "a label");
}

static bool parse_labels(struct rest *rest, struct series_choice *choice, struct error *err)
{
	skip_blanks(rest);
	while (!take(rest, '}')) {
		if (choice->label_count == SERIES_LABELS_MAX) {
			return error_set(err, ERROR_CONFIG, "more than %d labels",
					 SERIES_LABELS_MAX);
		}
		if (!parse_label(rest, &choice->labels[choice->label_count++], err)) {
			return false;
		}
		if (!take(rest, ',') && (rest->at == rest->end || *rest->at != '}')) {
			return error_set(err, ERROR_CONFIG, "a comma or } is missing");
		}
		skip_blanks(rest);
	}
	return true;
}

bool series_choice_parse(struct series_choice *choice, const char *text, struct error *err)
{
	struct rest rest = { text, text + strlen(text) };
	bool good;

	*choice = (struct series_choice){ 0 };
	choice->family = take_name(&rest);
	good = choice->family ||
	       error_set(err, ERROR_CONFIG, "'%s' does not begin with the name of a family", text);
	if (good && take(&rest, '{')) {
		good = parse_labels(&rest, choice, err);
	}
	if (good && rest.at < rest.end) {
		good = error_set(err, ERROR_CONFIG, "'%s' stands behind the series", rest.at);
	}
	if (!good) {
		series_choice_done(choice);
	}
	return good;
}

void series_choice_done(struct series_choice *choice)
{
	for (size_t i = 0; i < choice->label_count; i++) {
		free(choice->labels[i].name);
		free(choice->labels[i].value);
	}
	free(choice->family);
	*choice = (struct series_choice){ 0 };
}

/* Looks at one label of a line. False: the line is not chosen. */
static bool label_fits(const struct series_choice *choice, const char *name, size_t size,
		       const char *value, bool *seen)
{
	for (size_t i = 0; i < choice->label_count; i++) {
		const struct series_label *label = &choice->labels[i];

		if (strlen(label->name) != size || memcmp(label->name, name, size) != 0) {
			continue;
		}
		seen[i] = true;
		if ((strcmp(label->value, value) == 0) == label->differs) {
			return false;
		}
	}
	return true;
}

static bool labels_fit(const struct series_choice *choice, struct rest *rest)
{
	bool seen[SERIES_LABELS_MAX] = { false };
	struct text value = { 0 };
	bool fits = true;

	while (fits && rest->at < rest->end && !take(rest, '}')) {
		const char *name = rest->at;
		size_t size = name_size(rest);

		rest->at += size;
		text_clear(&value);
		fits = take(rest, '=') && take_quoted(rest, &value) &&
		       label_fits(choice, name, size, value.data ? value.data : "", seen);
		take(rest, ',');
	}
	text_free(&value);
	for (size_t i = 0; fits && i < choice->label_count; i++) {
		const struct series_label *label = &choice->labels[i];

		fits = seen[i] || (label->value[0] == '\0') != label->differs;
	}
	return fits;
}

bool series_choice_matches(const struct series_choice *choice, const char *name, const char *line,
			   size_t size, double *value)
{
	struct rest rest = { line, line + size };
	size_t named = strlen(name);
	char number[64] = "";

	if (size < named || memcmp(line, name, named) != 0) {
		return false;
	}
	rest.at += named;
	if (!take(&rest, '{')) {
		struct rest none = { "", NULL };

		none.end = none.at;
		if (rest.at == rest.end || *rest.at != ' ' || !labels_fit(choice, &none)) {
			return false;
		}
	} else if (!labels_fit(choice, &rest)) {
		return false;
	}
	skip_blanks(&rest);
	if (rest.at == rest.end || (size_t)(rest.end - rest.at) >= sizeof number) {
		return false;
	}
	memcpy(number, rest.at, (size_t)(rest.end - rest.at));
	*value = strtod(number, NULL);
	return true;
}
