/* SPDX-License-Identifier: MIT */
/*
 * Reads expositions in the text format of Prometheus, which this program has written, back into
 * series.
 *
 * Values in an exposition are exact, and it is what users see. So a comparison of two recordings
 * compares two expositions and needs no other access to the registry. A line is
 * `name{label="value",…} number`; a TYPE line before it states the type of the family. The lines of
 * a histogram become one series: `le` is the last label of a bucket, so the labels before it are
 * those of the series. A series is found by a hash of its family's name and of its labels as
 * written, which have the same order in both expositions. The bounds of a family are those of its
 * first histogram, in the order of the exposition; both expositions have the same configuration, so
 * they have the same bounds.
 */
#include <etw/record.h>

#include "etwtool/page_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "etwtool/recording.h"
#include "exporter/rules/language/collector.h"

/* The parts of a sample line. They point into the exposition. */
struct sample_line {
	const char *name, *labels; /* labels have no braces */
	size_t name_size, labels_size;
	const char *bound; /* text of `le`; NULL: no such label */
	double value;
};

/* Returns the closing brace of the labels that begin at `at`. */
static const char *labels_end(const char *at)
{
	for (bool quoted = false; *at != '\0' && (quoted || *at != '}'); at++) {
		if (quoted && *at == '\\' && at[1] != '\0') {
			at++;
		} else if (*at == '"') {
			quoted = !quoted;
		}
	}
	return at;
}

static void cut_line(const char *line, struct sample_line *sample)
{
	static const char le[] = "le=\"";
	const char *at = line + strcspn(line, "{ ");

	*sample = (struct sample_line){ .name = line, .name_size = (size_t)(at - line) };
	if (*at == '{') {
		const char *end = labels_end(at + 1), *last = end;

		sample->labels = at + 1;
		sample->labels_size = (size_t)(end - sample->labels);
		/* The search backwards works because no bound contains a quote or a brace. */
		while (last > sample->labels && end - last < 32 && strncmp(last, le, 4) != 0) {
			last--;
		}
		if (strncmp(last, le, 4) == 0 && (last == sample->labels || last[-1] == ',')) {
			sample->bound = last + 4;
			sample->labels_size =
				(size_t)(last - sample->labels) - (last != sample->labels);
		}
		at = *end == '}' ? end + 1 : end;
	}
	sample->value = strtod(at, NULL);
}

/* ---- families ---- */

static struct series_family *find_family(struct series_table *table, const char *name, size_t size)
{
	for (size_t i = table->family_count; i-- > 0;) {
		if (strncmp(table->families[i].name, name, size) == 0 &&
		    table->families[i].name[size] == '\0') {
			return &table->families[i];
		}
	}
	return NULL;
}

/*
 * Finds or adds the family of a TYPE line; the name is the text after "# TYPE ". NULL without
 * memory.
 */
static struct series_family *add_family(struct series_table *table, const char *name)
{
	size_t size = strcspn(name, " \n");
	struct series_family *family = find_family(table, name, size), *grown;

	if (family) {
		return family;
	}
	grown = array_grow(table->families, &table->family_capacity, table->family_count,
			   sizeof *grown);
	if (!grown) {
		return NULL;
	}
	table->families = grown;
	family = &grown[table->family_count];
	*family = (struct series_family){ .name = text_duplicate(name, size) };
	if (!family->name) {
		return NULL;
	}
	for (enum family_type type = FAMILY_COUNTER; type <= FAMILY_HISTOGRAM; type++) {
		const char *word = family_type_name(type);

		if (strncmp(name + size + 1, word, strlen(word)) == 0) {
			family->type = type;
		}
	}
	table->family_count++;
	return family;
}

/* Finds or adds the bucket of a bound and returns its index; bucket_count if there is no room. */
static size_t bucket_of(struct series_family *family, double bound)
{
	size_t i = 0;
	double *grown;

	while (i < family->bucket_count && family->bounds[i] != bound) {
		i++;
	}
	if (i < family->bucket_count || i > FAMILY_BUCKETS_MAX) {
		return i;
	}
	grown = array_grow(family->bounds, &family->bucket_capacity, i, sizeof *grown);
	if (grown) {
		family->bounds = grown;
		grown[family->bucket_count++] = bound;
	}
	return i;
}

/* ---- series ---- */

static struct series *find_series(struct series_table *table, size_t family,
				  const struct sample_line *line)
{
	const char *name = table->families[family].name;
	uint64_t key = text_hash(name, strlen(name), hash_seed()) ^
		       hash_u64(text_hash(line->labels ? line->labels : "", line->labels_size,
					  hash_seed()));
	uint64_t *index = map_put(&table->by_key, key, NULL);
	struct series *grown;

	if (!index) {
		return NULL;
	}
	if (*index == 0) {
		grown = array_grow(table->rows, &table->capacity, table->count, sizeof *grown);
		if (!grown) {
			return NULL;
		}
		table->rows = grown;
		grown[table->count] = (struct series){
			.family = family,
			.labels =
				text_duplicate(line->labels ? line->labels : "", line->labels_size),
		};
		if (!grown[table->count].labels) {
			return NULL;
		}
		*index = ++table->count;
	}
	return &table->rows[*index - 1];
}

static bool name_ends(const struct sample_line *line, const char *end)
{
	size_t size = strlen(end);

	return line->name_size > size &&
	       memcmp(line->name + line->name_size - size, end, size) == 0;
}

static bool add_sample(struct series_table *table, struct series_family *family, const char *text,
		       unsigned side)
{
	struct sample_line line;
	struct series *series;
	struct series_side *at;
	size_t bucket;

	cut_line(text, &line);
	series = find_series(table, (size_t)(family - table->families), &line);
	if (!series) {
		return false;
	}
	at = &series->sides[side];
	at->present = true;
	if (family->type != FAMILY_HISTOGRAM) {
		at->value = line.value;
		return true;
	}
	if (name_ends(&line, "_sum")) {
		at->sum = line.value;
	} else if (name_ends(&line, "_count")) {
		at->count = line.value;
	} else if (line.bound) {
		if (!at->buckets) {
			at->buckets = calloc(FAMILY_BUCKETS_MAX + 1, sizeof *at->buckets);
		}
		bucket = bucket_of(family, strtod(line.bound, NULL));
		if (!at->buckets || bucket >= family->bucket_count) {
			return false;
		}
		at->buckets[bucket] = line.value;
	}
	return true;
}

bool series_table_add(struct series_table *table, const char *page, unsigned side,
		      struct etw_error *err)
{
	static const char type[] = "# TYPE ";
	struct series_family *family = NULL; /* NULL: skip the lines */
	const char *end;

	for (const char *line = page; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		if (strncmp(line, type, strlen(type)) == 0) {
			const char *name = line + strlen(type);

			family = NULL;
			if (!metric_name_is_own(name)) {
				family = add_family(table, name);
				if (!family) {
					return error_no_memory(err, "the series");
				}
			}
		} else if (line[0] != '#' && family && !add_sample(table, family, line, side)) {
			return error_no_memory(err, "the series");
		}
	}
	return true;
}

void series_table_done(struct series_table *table)
{
	for (size_t i = 0; i < table->family_count; i++) {
		free(table->families[i].name);
		free(table->families[i].bounds);
	}
	for (size_t i = 0; i < table->count; i++) {
		free(table->rows[i].labels);
		for (unsigned side = 0; side < SIDES; side++) {
			free(table->rows[i].sides[side].buckets);
		}
	}
	free(table->families);
	free(table->rows);
	map_done(&table->by_key);
	*table = (struct series_table){ .rows = NULL };
}

/* ---- quantiles ---- */

double series_quantile(const struct series_family *family, const struct series_side *side,
		       double quantile)
{
	double rank = quantile * side->count, lower, below;
	size_t i = 0;

	if (!(side->count > 0) || !side->buckets || family->bucket_count == 0) {
		return NAN;
	}
	while (i + 1 < family->bucket_count && side->buckets[i] < rank) {
		i++;
	}
	if (isinf(family->bounds[i])) {
		return i > 0 ? family->bounds[i - 1] : NAN;
	}
	lower = i > 0 ? family->bounds[i - 1] : family->bounds[0] > 0 ? 0 : family->bounds[0];
	below = i > 0 ? side->buckets[i - 1] : 0;
	if (side->buckets[i] <= below) {
		return family->bounds[i];
	}
	return lower + (family->bounds[i] - lower) * (rank - below) / (side->buckets[i] - below);
}

/* ---- when a page is written ---- */

/*
 * A recording chooses its times, so a few records can span thousands of years, and one exposition
 * for each step could fill any disk. Therefore a pause gets only one exposition, at its beginning,
 * because the values do not change during it. The next one comes before the record that ends the
 * pause.
 */

#define SECOND INT64_C(10000000)

/* Returns the last multiple of the step, counted from 1970, that is not after the time. */
static int64_t step_before(const struct page_times *times, int64_t time)
{
	return time - (int64_t)(etw_time_since_1970(time) % (uint64_t)times->step);
}

bool page_times_due(struct page_times *times, int64_t time, int64_t *page)
{
	int64_t pause = PAUSE_SECONDS * SECOND;

	pause = times->step > pause ? times->step : pause;
	if (time == ETW_RECORD_NO_TIME) {
		return false;
	}
	if (time < ETW_TIME_1970 || time >= TIME_10000) {
		times->outside++;
		return false;
	}
	if (times->next == 0) {
		times->next = step_before(times, time);
	}
	if (time < times->next) {
		return false;
	}
	*page = times->next;
	times->next = time - times->next > pause ? step_before(times, time) :
						   times->next + times->step;
	return true;
}
