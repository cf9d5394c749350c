/* SPDX-License-Identifier: MIT */
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
#include "exporter/http/collect.h"

#include <string.h>

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
