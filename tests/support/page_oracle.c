/* SPDX-License-Identifier: MIT */
/*
 * Reads a page line by line, as a scraper does, and complains about the first line that breaks a
 * rule of the format.
 *
 * A page is a list of families: HELP, TYPE, samples. The samples of a histogram with the same
 * labels follow each other: buckets with rising bounds, then the sum, then the count. Values are
 * decimal numbers without an exponent, because the exporter counts integers; NaN and infinities are
 * therefore faults, except for the bound +Inf. A series is remembered as a hash of its name and
 * labels, so two series with one hash would be a false alarm, which has not been seen to happen
 * with 64 bits.
 */
#include "tests/support/page_oracle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "base/utf8.h"

enum type { NO_TYPE, COUNTER, GAUGE, HISTOGRAM };

struct sample {
	const char *name, *labels, *value; /* in the line */
	size_t name_size, labels_size, value_size;
	const char *bound; /* the value of `le`, NULL: it has none */
	size_t bound_size;
};

struct reader {
	struct map series;   /* hash of name and labels: seen */
	struct map families; /* hash of a family's name: its TYPE was seen */
	const char *family;  /* the name in the last TYPE line */
	size_t family_size;
	enum type type;
	/* Of the histogram sample that is being read. */
	bool in_buckets;
	double bound;
	uint64_t cumulated;
};

static bool is_text(const char *at, size_t size, bool steers)
{
	const char *end = at + size;

	while (at < end) {
		uint32_t point;
		size_t bytes = utf8_decode(at, (size_t)(end - at), &point);

		if ((!steers && point != '\n' && utf8_steers_terminal(point)) ||
		    (point == UTF8_REPLACEMENT &&
		     (bytes != 3 || memcmp(at, "\xef\xbf\xbd", 3) != 0))) {
			return false;
		}
		at += bytes;
	}
	return true;
}

bool is_utf8(const char *at, size_t size)
{
	return is_text(at, size, true);
}

bool is_clean_text(const char *at, size_t size)
{
	return is_text(at, size, false);
}

static size_t name_size(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			    *at == '_' || (at > start && *at >= '0' && *at <= '9'))) {
		at++;
	}
	return (size_t)(at - start);
}

/* A label in front of `end`: name="value". Returns what is behind it, NULL if it is none. */
static const char *read_label(const char *at, const char *end, struct sample *sample)
{
	size_t name = name_size(at, end);
	bool is_bound = name == 2 && memcmp(at, "le", 2) == 0;

	at += name;
	if (name == 0 || end - at < 2 || at[0] != '=' || at[1] != '"') {
		return NULL;
	}
	at += 2;
	if (is_bound) {
		sample->bound = at;
	}
	for (; at < end && *at != '"'; at++) {
		if (*at == '\\' && (++at == end || (*at != '\\' && *at != '"' && *at != 'n'))) {
			return NULL;
		}
	}
	if (at == end) {
		return NULL;
	}
	if (is_bound) {
		sample->bound_size = (size_t)(at - sample->bound);
	}
	return at + 1;
}

static bool is_number(const char *at, size_t size)
{
	const char *end = at + size;
	const char *start;

	at += at < end && *at == '-';
	start = at;
	while (at < end && *at >= '0' && *at <= '9') {
		at++;
	}
	if (at == start || at == end) {
		return at != start;
	}
	if (*at != '.') {
		return false;
	}
	start = ++at;
	while (at < end && *at >= '0' && *at <= '9') {
		at++;
	}
	return at == end && at > start;
}

static bool read_sample(const char *at, const char *end, struct sample *sample)
{
	*sample = (struct sample){ .name = at, .name_size = name_size(at, end) };
	at += sample->name_size;
	sample->labels = at;
	if (sample->name_size == 0) {
		return false;
	}
	if (at < end && *at == '{') {
		do {
			at = read_label(at + 1, end, sample);
		} while (at && at < end && *at == ',');
		if (!at || at == end || *at++ != '}') {
			return false;
		}
	}
	sample->labels_size = (size_t)(at - sample->labels);
	if (at == end || *at != ' ') {
		return false;
	}
	sample->value = at + 1;
	sample->value_size = (size_t)(end - sample->value);
	return is_number(sample->value, sample->value_size);
}

/* Adds a text to a set. False: it was there. */
static bool is_new(struct map *set, const char *text, size_t size)
{
	bool added = true;

	map_put(set, text_hash(text, size, 1), &added);
	return added;
}

/* "# HELP name text" or "# TYPE name type". */
static const char *read_head(struct reader *reader, const char *at, const char *end)
{
	static const char *const types[] = { "", "counter", "gauge", "histogram" };
	bool type = end - at > 7 && memcmp(at, "# TYPE ", 7) == 0;
	const char *name = at + 7;
	size_t size;

	if (!type && (end - at <= 7 || memcmp(at, "# HELP ", 7) != 0)) {
		return "a comment that is neither HELP nor TYPE";
	}
	size = name_size(name, end);
	if (size == 0 || name + size == end || name[size] != ' ') {
		return "a comment without the name of a family";
	}
	if (!type) {
		return NULL;
	}
	if (!is_new(&reader->families, name, size)) {
		return "a family for the second time";
	}
	reader->family = name;
	reader->family_size = size;
	reader->type = NO_TYPE;
	at = name + size + 1;
	for (unsigned i = COUNTER; i <= HISTOGRAM; i++) {
		if (strlen(types[i]) == (size_t)(end - at) &&
		    memcmp(types[i], at, (size_t)(end - at)) == 0) {
			reader->type = (enum type)i;
		}
	}
	return reader->type == NO_TYPE ? "a type that does not exist" : NULL;
}

/* What the name of a sample has behind that of the family; NULL: it is of another one. */
static const char *ending_of(const struct reader *reader, const struct sample *sample, size_t *size)
{
	if (!reader->family || sample->name_size < reader->family_size ||
	    memcmp(sample->name, reader->family, reader->family_size) != 0) {
		return NULL;
	}
	*size = sample->name_size - reader->family_size;
	return sample->name + reader->family_size;
}

static bool is(const char *text, size_t size, const char *word)
{
	return strlen(word) == size && memcmp(text, word, size) == 0;
}

static const char *check_histogram(struct reader *reader, const struct sample *sample,
				   const char *ending, size_t size)
{
	uint64_t value = strtoull(sample->value, NULL, 10);

	if (is(ending, size, "_bucket")) {
		double bound;

		if (!sample->bound) {
			return "a bucket without a bound";
		}
		bound = strtod(sample->bound, NULL);
		if (reader->in_buckets && bound <= reader->bound) {
			return "bounds that do not rise";
		}
		if (reader->in_buckets && value < reader->cumulated) {
			return "buckets that fall";
		}
		reader->in_buckets = true;
		reader->bound = bound;
		reader->cumulated = value;
		return NULL;
	}
	if (is(ending, size, "_sum")) {
		return NULL;
	}
	if (!is(ending, size, "_count")) {
		return "a sample that a histogram does not have";
	}
	if (!reader->in_buckets || reader->bound <= 1e308) {
		return "a histogram without the bucket of +Inf";
	}
	reader->in_buckets = false;
	return value == reader->cumulated ? NULL : "a count other than the last bucket";
}

static const char *check_sample(struct reader *reader, const char *at, const char *end)
{
	struct sample sample;
	const char *ending;
	size_t size = 0;

	if (!read_sample(at, end, &sample)) {
		return "no line of the format";
	}
	if (!is_new(&reader->series, at, (size_t)(sample.value - at))) {
		return "a series for the second time";
	}
	ending = ending_of(reader, &sample, &size);
	if (!ending) {
		return "a sample of another family";
	}
	if (reader->type != GAUGE && sample.value[0] == '-') {
		return "a counter below 0";
	}
	if (reader->type == HISTOGRAM) {
		return check_histogram(reader, &sample, ending, size);
	}
	return size == 0 ? NULL : "a sample of another family";
}

const char *page_fault(const char *page, size_t size, const char **line)
{
	struct reader reader = { .type = NO_TYPE };
	const char *end = page + size;
	/* A label may have control characters, but a NUL ends the page for some readers. */
	const char *fault = is_utf8(page, size) && !(size > 0 && memchr(page, '\0', size)) ?
				    NULL :
				    "not UTF-8, or a NUL";

	*line = page;
	for (const char *at = page; !fault && at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		*line = at;
		if (!stop) {
			fault = "a line without an end";
		} else if (at[0] == '#') {
			fault = read_head(&reader, at, stop);
		} else {
			fault = check_sample(&reader, at, stop);
		}
		at = stop ? stop + 1 : end;
	}
	map_done(&reader.series);
	map_done(&reader.families);
	return fault;
}
