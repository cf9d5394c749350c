/* SPDX-License-Identifier: MIT */
/*
 * Parses Accept and Accept-Encoding (RFC 9110, sections 12.4.2, 12.5.1 and 12.5.3).
 *
 * A header is a list of elements, each a name with parameters: `text/plain;version=0.0.4;q=0.5`.
 * Every element is compared with every row of a table of the formats that we have. For each row the
 * most specific element counts, and the row with the greatest weight is chosen. Formats differ in
 * their parameters: a range that names another version than ours does not match our format.
 * Parameters without a meaning here (charset) are ignored, as the client libraries of Prometheus
 * do. The scheme for escaping names that Prometheus 3 sends (`escaping=`) is also ignored, except
 * that the answer repeats it: our names have only letters, digits, underscores and colons, which
 * are the same in each scheme.
 *
 * The parser accepts any bytes: a malformed name, parameter or weight invalidates only its own
 * element, which ends at the next comma outside of quotes.
 */
#include "exporter/http/negotiate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- the parser ---- */

struct text_range {
	const char *at;
	size_t size;
};

enum { PARAMETERS_MAX = 8, WEIGHT_ONE = 1000 };

struct element {
	struct text_range name; /* "text/plain", "gzip" */
	struct {
		struct text_range name, value; /* without quotes; escapes in quotes are kept */
	} parameters[PARAMETERS_MAX];
	size_t parameter_count;
	unsigned weight; /* in thousandths */
	bool valid;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *at)
{
	while (is_blank(*at)) {
		at++;
	}
	return at;
}

static bool range_is(struct text_range range, const char *text)
{
	return text_equal_nocase(range.at, range.size, text, strlen(text));
}

/* Takes bytes up to one of the characters in stops, a blank or the end. */
static struct text_range read_until(const char **at, const char *stops)
{
	struct text_range range = { .at = *at };

	while (**at && !is_blank(**at) && !strchr(stops, **at)) {
		++*at;
	}
	range.size = (size_t)(*at - range.at);
	return range;
}

/* Takes a value with or without quotes. Returns false if the second quote is missing. */
static bool read_value(const char **at, struct text_range *value)
{
	if (**at != '"') {
		*value = read_until(at, ",;");
		return true;
	}
	value->at = ++*at;
	while (**at && **at != '"') {
		*at += (*at)[0] == '\\' && (*at)[1] ? 2 : 1;
	}
	value->size = (size_t)(*at - value->at);
	if (!**at) {
		return false;
	}
	++*at;
	return true;
}

/* Parses a weight: 0, 1, or a fraction such as 0.75, of which three digits count. Returns false for
 * anything else. */
static bool read_weight(struct text_range text, unsigned *weight)
{
	unsigned place = WEIGHT_ONE;

	if (text.size == 0 || (text.at[0] != '0' && text.at[0] != '1') ||
	    (text.size > 1 && text.at[1] != '.')) {
		return false;
	}
	*weight = text.at[0] == '1' ? WEIGHT_ONE : 0;
	for (size_t i = 2; i < text.size; i++) {
		if (text.at[i] < '0' || text.at[i] > '9') {
			return false;
		}
		place /= 10;
		*weight += place * (unsigned)(text.at[i] - '0');
	}
	return *weight <= WEIGHT_ONE;
}

/* Takes a parameter after its semicolon. Returns false if it is malformed. */
static bool read_element_parameter(const char **at, struct element *element)
{
	struct text_range name, value = { .at = "" };

	*at = skip_blanks(*at);
	name = read_until(at, ",;=\"");
	*at = skip_blanks(*at);
	if (**at == '=') {
		*at = skip_blanks(*at + 1);
		if (!read_value(at, &value)) {
			return false;
		}
	}
	*at = skip_blanks(*at);
	if (range_is(name, "q")) {
		return read_weight(value, &element->weight);
	}
	if (name.size > 0 && element->parameter_count < PARAMETERS_MAX) {
		element->parameters[element->parameter_count].name = name;
		element->parameters[element->parameter_count++].value = value;
	}
	return **at == '\0' || **at == ',' || **at == ';';
}

/* Returns the position after the next comma outside of quotes, or the end if there is none. */
static const char *skip_element(const char *at)
{
	struct text_range ignored;

	while (*at && *at != ',') {
		if (*at != '"') {
			at++;
		} else if (!read_value(&at, &ignored)) {
			return at;
		}
	}
	return *at ? at + 1 : at;
}

/* Parses the next element. Returns false at the end of the header. */
static bool next_element(const char **at, struct element *element)
{
	*at = skip_blanks(*at);
	if (!**at) {
		return false;
	}
	*element = (struct element){ .weight = WEIGHT_ONE };
	element->name = read_until(at, ",;\"");
	element->valid = element->name.size > 0;
	*at = skip_blanks(*at);
	while (element->valid && **at == ';') {
		++*at;
		element->valid = read_element_parameter(at, element);
	}
	element->valid &= **at == '\0' || **at == ',';
	*at = skip_element(*at);
	return true;
}

/* Finds the value of a parameter. Returns false if the element does not have it. */
static bool parameter_of(const struct element *element, const char *name, struct text_range *value)
{
	for (size_t i = 0; i < element->parameter_count; i++) {
		if (range_is(element->parameters[i].name, name)) {
			*value = element->parameters[i].value;
			return true;
		}
	}
	return false;
}

/* ---- choosing ---- */

/* The best element so far for one format or encoding that we have. */
struct match {
	unsigned specificity; /* 0: no element matches */
	unsigned weight;
	size_t position; /* index of the element in the header */
	struct text_range escaping;
};

/* Takes the element if it is more specific than the best one so far; of equally specific ones the
 * first counts. */
static void match_element(struct match *match, const struct element *element, unsigned specificity,
			  size_t position)
{
	if (specificity > match->specificity) {
		*match = (struct match){ .specificity = specificity,
					 .weight = element->weight,
					 .position = position };
		parameter_of(element, "escaping", &match->escaping);
	}
}

/* ---- formats ---- */

enum { MATCH_ALL = 1, MATCH_TYPE, MATCH_NAME, MATCH_VERSION };

/* The formats, in the order in which a wildcard chooses. */
static const struct media {
	enum exposition_format format;
	const char *name, *type; /* "text/plain", and its range: "text" with slash and star */
	const char *version;     /* NULL: the parameters of protobuf are needed instead */
} medias[] = {
	{ EXPOSITION_TEXT_0_0_4, "text/plain", "text/*", "0.0.4" },
	{ EXPOSITION_OPENMETRICS_1_0_0, "application/openmetrics-text", "application/*", "1.0.0" },
	{ EXPOSITION_OPENMETRICS_0_0_1, "application/openmetrics-text", "application/*", "0.0.1" },
	{ EXPOSITION_PROTOBUF, "application/vnd.google.protobuf", "application/*", NULL },
};

enum { MEDIAS = sizeof medias / sizeof medias[0] };

/* Returns how specifically an element matches a format; 0: it does not match. */
static unsigned media_specificity(const struct element *element, const struct media *media)
{
	struct text_range version, message, encoding;

	if (range_is(element->name, "*/*") || range_is(element->name, "*")) {
		return MATCH_ALL;
	}
	if (range_is(element->name, media->type)) {
		return MATCH_TYPE;
	}
	if (!range_is(element->name, media->name)) {
		return 0;
	}
	if (!media->version) {
		/* Other messages, and other encodings of this one, have the same media type. */
		return parameter_of(element, "proto", &message) &&
				       range_is(message, "io.prometheus.client.MetricFamily") &&
				       parameter_of(element, "encoding", &encoding) &&
				       range_is(encoding, "delimited") ?
			       MATCH_VERSION :
			       0;
	}
	if (!parameter_of(element, "version", &version)) {
		return MATCH_NAME;
	}
	return range_is(version, media->version) ? MATCH_VERSION : 0;
}

/* Returns whether one match is better than another: a greater weight, then a named format, then the
 * earlier position in the header. */
static bool is_better(const struct match *one, const struct match *other)
{
	bool named = one->specificity >= MATCH_NAME, other_named = other->specificity >= MATCH_NAME;

	if (one->specificity == 0 || one->weight != other->weight) {
		return one->specificity > 0 && one->weight > other->weight;
	}
	return named != other_named ? named : named && one->position < other->position;
}

/* Returns the constant text of an escaping scheme of Prometheus; NULL for anything else. */
static const char *escaping_of(struct text_range text)
{
	static const char *const schemes[] = { "allow-utf-8", "underscores", "dots", "values" };

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		if (text.at && range_is(text, schemes[i])) {
			return schemes[i];
		}
	}
	return NULL;
}

struct accepted_format negotiate_format(const char *accept)
{
	struct match matches[MEDIAS] = { { 0 } }, best = { 0 };
	struct accepted_format accepted = { .format = EXPOSITION_TEXT_0_0_4 };
	struct element element;
	const char *at = accept ? accept : "";

	for (size_t position = 0; next_element(&at, &element); position++) {
		for (size_t i = 0; element.valid && i < MEDIAS; i++) {
			match_element(&matches[i], &element,
				      media_specificity(&element, &medias[i]), position);
		}
	}
	for (size_t i = 0; i < MEDIAS; i++) {
		if (is_better(&matches[i], &best)) {
			best = matches[i];
			accepted.format = medias[i].format;
		}
	}
	accepted.escaping = escaping_of(best.escaping);
	return accepted;
}

/* ---- encodings ---- */

enum content_encoding negotiate_encoding(const char *accept_encoding)
{
	/* The encodings in order of preference. */
	static const struct {
		enum content_encoding encoding;
		const char *name, *also; /* RFC 9110, section 8.4.1.3: x-gzip is gzip */
		bool wildcard;
	} rows[] = {
		{ ENCODING_ZSTD, "zstd", "zstd", false },
		{ ENCODING_GZIP, "gzip", "x-gzip", true },
		{ ENCODING_IDENTITY, "identity", "identity", true },
	};
	enum { ROWS = sizeof rows / sizeof rows[0] };
	struct match matches[ROWS] = { { 0 } };
	enum content_encoding best = ENCODING_IDENTITY;
	unsigned best_weight = 0;
	struct element element;
	const char *at = accept_encoding ? accept_encoding : "";

	for (size_t position = 0; next_element(&at, &element); position++) {
		for (size_t i = 0; element.valid && i < ROWS; i++) {
			bool named = range_is(element.name, rows[i].name) ||
				     range_is(element.name, rows[i].also);

			if (named || (rows[i].wildcard && range_is(element.name, "*"))) {
				match_element(&matches[i], &element, named ? MATCH_NAME : MATCH_ALL,
					      position);
			}
		}
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (matches[i].weight > best_weight) {
			best = rows[i].encoding;
			best_weight = matches[i].weight;
		}
	}
	return best;
}

/* ---- the time limit ---- */

uint64_t time_limit_ns(const char *header, uint64_t offset_ns)
{
	/* Seconds as Go prints them: "10", "0.5", "1e-05". strtod() alone would also take blanks,
	 * names and hexadecimal numbers. */
	char *end;
	double seconds;
	uint64_t limit;

	if (!header || header[0] == '\0' || strspn(header, "0123456789.eE+-") != strlen(header)) {
		return TIME_LIMIT_MAX_NS;
	}
	seconds = strtod(header, &end);
	if (*end != '\0' || !(seconds > 0)) {
		return TIME_LIMIT_MAX_NS;
	}
	/* This also bounds infinity. One is added because a limit of 0 would end the scrape before
	 * it begins. */
	limit = seconds < 3600 ? (uint64_t)(seconds * 1e9) + 1 : UINT64_C(3600000000000);
	limit = limit / 2 > offset_ns ? limit - offset_ns : limit - limit / 2;
	return limit < TIME_LIMIT_MAX_NS ? limit : TIME_LIMIT_MAX_NS;
}

/* ---- the families of a scrape ---- */

/*
 * Reads collect[] and exclude[] from the query of a scrape, and finds the families that they mean.
 *
 * A query is hostile text: keys and values may have percent codes, and parameters of other
 * exporters and libraries are left alone. The names of collectors are compared exactly. An unknown
 * name is an error that lists the known ones, because a scrape configuration with a typing mistake
 * would otherwise collect nothing for years. collect[] of a collector that is off is an error too,
 * as in node_exporter; exclude[] of such a collector changes nothing.
 *
 * Two collectors may add to the same family (`file` and `file_other` both count operations). The
 * family is part of the scrape if one of those collectors is. Therefore a map has the families of
 * all collectors, with the answer for each. A family that is not in the map belongs to no
 * collector, and its name decides whether it is one of `exporter` or one of `health`.
 */

/* The two names for families to which no collector adds. */
#define EXPORTER_NAME "exporter"
#define HEALTH_NAME   "health"

/* More names in a query than there are collectors are a mistake. */
enum { NAMES_MAX = 256 };

/* The names in a query. */
struct names {
	bool collect, exclude; /* the query has such parameters */
	struct etw_text texts; /* the names, each followed by a NUL */
	size_t starts[NAMES_MAX];
	bool known[NAMES_MAX];
	bool off[NAMES_MAX]; /* this collector is off, or a flag leaves it out */
	size_t count;
};

/* ---- the query ---- */

static int hex_digit(char c)
{
	c = ascii_lower(c);
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends a part of a query, with percent codes decoded, plus signs as blanks, and a NUL at the
 * end. Returns false if a percent code is incomplete or means a NUL. */
static bool add_decoded(struct etw_text *out, const char *from, const char *end)
{
	while (from < end) {
		char c = *from++;

		if (c == '%') {
			int high = end - from >= 2 ? hex_digit(from[0]) : -1;
			int low = high >= 0 ? hex_digit(from[1]) : -1;

			if (low < 0 || high + low == 0) {
				return false;
			}
			c = (char)(high * 16 + low);
			from += 2;
		} else if (c == '+') {
			c = ' ';
		}
		text_add_char(out, c);
	}
	text_add_char(out, '\0');
	return true;
}

/* Parses one parameter, "key=value". Returns an HTTP status. */
static int read_parameter(struct names *names, const char *start, const char *end,
			  struct etw_text *why)
{
	const char *equals = memchr(start, '=', (size_t)(end - start));
	const char *key_end = equals ? equals : end;
	struct etw_text key = { 0 };
	bool good = add_decoded(&key, start, key_end);
	bool collect = good && !key.failed && strcmp(key.data, "collect[]") == 0;
	bool exclude = good && !key.failed && strcmp(key.data, "exclude[]") == 0;
	bool failed = key.failed;

	text_free(&key);
	if (!collect && !exclude) {
		return failed ? 500 : 200;
	}
	names->collect |= collect;
	names->exclude |= exclude;
	if (names->count == NAMES_MAX) {
		text_add_format(why, "The query has more than %d names of collectors.", NAMES_MAX);
		return 400;
	}
	names->starts[names->count++] = names->texts.size;
	if (!add_decoded(&names->texts, equals ? equals + 1 : end, end)) {
		text_add_string(why, "A percent code in the query is not valid.");
		return 400;
	}
	return names->texts.failed ? 500 : 200;
}

static int read_query(struct names *names, const char *query, struct etw_text *why)
{
	for (const char *at = query; at;) {
		size_t size = strcspn(at, "&");
		int status = read_parameter(names, at, at + size, why);

		if (status != 200) {
			return status;
		}
		at = at[size] == '&' ? at + size + 1 : NULL;
	}
	if (names->collect && names->exclude) {
		text_add_string(why, "collect[] and exclude[] cannot be combined.");
		return 400;
	}
	return 200;
}

/* ---- the collectors ---- */

/* Returns whether the query has this name, and notes whether its collector is on. */
static bool names_have(struct names *names, const char *name, bool on)
{
	bool found = false;

	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->texts.data + names->starts[i], name) == 0) {
			names->known[i] = true;
			names->off[i] |= !on;
			found = true;
		}
	}
	return found;
}

/* The state of the visit to all collectors. */
struct choosing {
	struct names *names;
	struct map *families;
	bool failed;
};

static void choose(void *visitor, const char *collector, bool on, const struct family *family)
{
	struct choosing *choosing = visitor;
	bool named = names_have(choosing->names, collector, on);
	uint64_t *chosen;

	if (!family) {
		return;
	}
	chosen = map_put(choosing->families, (uint64_t)(uintptr_t)family, NULL);
	if (chosen) {
		*chosen |= named == choosing->names->collect;
	}
	choosing->failed |= !chosen;
}

static void add_name(void *visitor, const char *collector, bool on, const struct family *family)
{
	if (on && !family) {
		text_add_format(visitor, "%s, ", collector);
	}
}

/* Adds "Unknown collector 'fiel'. Valid are: disk, file, exporter, health." or that the collector
 * is off. */
static void explain(const char *name, bool off, const struct http_options *options,
		    struct etw_text *why)
{
	text_add_string(why, off ? "Collector '" : "Unknown collector '");
	text_add_shown(why, name);
	text_add_string(why, off ? "' is off. Valid are: " : "'. Valid are: ");
	if (options->collectors) {
		options->collectors(options->collectors_context, add_name, why);
	}
	text_add_format(why, "%s%s.", options->disable_exporter_metrics ? "" : EXPORTER_NAME ", ",
			HEALTH_NAME);
}

static int find_families(struct collect *collect, struct names *names,
			 const struct http_options *options, struct etw_text *why)
{
	struct choosing choosing = { .names = names, .families = &collect->families };

	if (options->collectors) {
		options->collectors(options->collectors_context, choose, &choosing);
	}
	collect->health = names_have(names, HEALTH_NAME, true) == names->collect;
	collect->exporter = names_have(names, EXPORTER_NAME, !options->disable_exporter_metrics) ==
				    names->collect &&
			    !options->disable_exporter_metrics;
	for (size_t i = 0; i < names->count; i++) {
		if (!names->known[i] || (names->off[i] && names->collect)) {
			explain(names->texts.data + names->starts[i], names->known[i], options,
				why);
			return 400;
		}
	}
	return choosing.failed ? 500 : 200;
}

int collect_init(struct collect *collect, const char *query, const struct http_options *options,
		 struct etw_text *why)
{
	struct names names = { 0 };
	int status = read_query(&names, query, why);

	*collect = (struct collect){ .health = true, .exporter = true };
	if (status == 200 && (names.collect || names.exclude)) {
		status = find_families(collect, &names, options, why);
	} else {
		collect->everything = !options->disable_exporter_metrics;
		collect->exporter = collect->everything;
	}
	text_free(&names.texts);
	return why->failed ? 500 : status;
}

void collect_done(struct collect *collect)
{
	map_done(&collect->families);
}

bool collect_includes(void *context, const struct family *family)
{
	static const char *const prefixes[] = { "etw_exporter_", "process_" };
	const struct collect *collect = context;
	const uint64_t *chosen = map_find(&collect->families, (uint64_t)(uintptr_t)family);

	if (collect->everything || chosen) {
		return collect->everything || *chosen;
	}
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
		if (strncmp(family_name(family), prefixes[i], strlen(prefixes[i])) == 0) {
			return collect->exporter;
		}
	}
	return collect->health;
}
