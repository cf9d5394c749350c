/* SPDX-License-Identifier: MIT */
/*
 * Samples the counters of the exporter over the time of a recording, in bounded memory.
 *
 * The duration of a recording is known only at its end. The header says when the session was
 * stopped, but not if the recording was cut off, and a header can be wrong. So the steps begin
 * short: a sixteenth of the length that fits the header's duration, or 1 ms without it. Whenever
 * there are more than REPORT_STEPS steps, each two are joined. The values are cumulative, so the
 * joined step has the value of the second one. If the header is right, the final length of the
 * steps is a usual unit of time, or half of it.
 *
 * The values are those of the exposition (metrics/visit.h), so the last values of the report are
 * those that `--once` prints. The samples that a chart sums are added as integers, seconds as
 * nanoseconds, so that nothing is rounded. A counter with many label sets evicts some after their
 * processes have ended (metrics/eviction.c). If a sum falls for this reason, its total stays here
 * and continues to grow. Of rows without samples only the greatest are kept, because a recording
 * may have any number of processes, one after the other.
 *
 * The first record of every recording is its header, whose time is the start of the session. In a
 * circular recording the events after it may be overwritten, so that the next record is hours
 * later. Therefore the steps begin with the second record.
 */
#include "etwtool/report/report.h"

#include <stdlib.h>
#include <string.h>

#include <etw/record.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/text.h"
#include "etwtool/recording.h"
#include "metrics/visit.h"

enum { NANOSECONDS = 9 }; /* decimals of seconds in nanoseconds */

#define MICROSECOND INT64_C(10)
#define MS          INT64_C(10000)
#define SECOND      INT64_C(10000000)

/* ---- the counters at one moment ---- */

static const char other_name[] = "_other";

static uint64_t hash_name(const char *name)
{
	return text_hash(name, strlen(name), hash_seed());
}

/* Finds or adds a row; NULL without memory. */
static struct report_row *find_row(struct report_series *series, const char *name)
{
	uint64_t key = hash_name(name);
	bool added = false;
	uint64_t *index = map_put(&series->by_name, key, &added);
	struct report_row *rows = series->rows, row = { .key = key };

	if (!index) {
		return NULL;
	}
	if (added) {
		*index = series->count;
		rows = array_grow(rows, &series->capacity, series->count, sizeof *rows);
		row.name = rows ? text_duplicate(name, strlen(name)) : NULL;
		row.steps = row.name ? calloc(REPORT_STEPS, sizeof *row.steps) : NULL;
		series->rows = rows ? rows : series->rows;
		if (!row.steps) {
			free(row.name);
			map_remove(&series->by_name, key);
			return NULL;
		}
		rows[series->count++] = row;
	}
	return &rows[*index];
}

static void add_value(struct report_charted *charted, size_t chart, const char *name,
		      uint64_t value)
{
	struct report_row *row = find_row(&charted->series[chart], name);

	if (row) {
		row->next = count_sum(row->next, value);
	}
	charted->failed |= !row;
}

/*
 * Returns whether a chart shows samples of a family: "etw_x_seconds_sum" belongs to
 * "etw_x_seconds".
 */
static bool chart_has(const struct report_chart *chart, const struct family *family)
{
	const char *name = family_name(family), *label;
	size_t size = strlen(name);
	bool buckets = chart->form == REPORT_BUCKETS;
	const char *ending = family_type(family) != FAMILY_HISTOGRAM ? "" :
			     buckets                                 ? "_bucket" :
								       "_sum";

	if (strncmp(chart->sample, name, size) != 0 || strcmp(chart->sample + size, ending) != 0) {
		return false;
	}
	for (size_t i = 0; (label = family_label(family, i)) != NULL; i++) {
		if (strcmp(label, chart->label) == 0) {
			return true;
		}
	}
	return buckets;
}

/* Returns a value in the unit of charts: whole bytes and events, or nanoseconds. */
static uint64_t value_in(enum report_unit unit, const struct visited_sample *sample)
{
	uint64_t value = sample->value;
	unsigned decimals = family_decimals(sample->family);

	for (; unit == REPORT_SECONDS && decimals < NANOSECONDS; decimals++) {
		value = value > UINT64_MAX / 10 ? UINT64_MAX : value * 10;
	}
	for (; unit != REPORT_SECONDS && decimals > 0; decimals--) {
		value /= 10;
	}
	return value;
}

/* Adds every bucket under the text that its bound has in the exposition. */
static void add_buckets(struct report_charted *charted, size_t chart,
			const struct visited_sample *sample)
{
	const uint64_t *bounds;
	size_t count = family_buckets(sample->family, &bounds);
	char bound[DECIMAL_ROOM + 1];

	for (size_t i = 0; i < count; i++) {
		*put_scaled(bound, bounds[i], family_decimals(sample->family)) = '\0';
		add_value(charted, chart, bound, sample->buckets[i]);
	}
	add_value(charted, chart, "+Inf", sample->buckets[count]);
}

/* The state of one visit of the registry. */
struct registry_reading {
	struct report_charted *charted;
	uint64_t charts; /* charts of the present family; bit i is the chart with index i */
};
_Static_assert(REPORT_CHARTS <= 64, "charts are bits of a uint64_t");

static bool begin_family(void *context, const struct family *family)
{
	struct registry_reading *reading = context;

	reading->charts = 0;
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		reading->charts |= (uint64_t)chart_has(&report_charts[i], family) << i;
	}
	return reading->charts != 0;
}

static void add_sample(void *context, const struct visited_sample *sample)
{
	const struct registry_reading *reading = context;

	for (size_t i = 0; reading->charts >> i != 0; i++) {
		const struct report_chart *chart = &report_charts[i];

		if ((reading->charts >> i & 1) == 0 ||
		    (chart->only &&
		     strcmp(sample_label(sample, chart->only), chart->only_value) != 0)) {
			continue;
		}
		if (chart->form == REPORT_BUCKETS) {
			add_buckets(reading->charted, i, sample);
		} else {
			add_value(reading->charted, i, sample_label(sample, chart->label),
				  value_in(chart->unit, sample));
		}
	}
}

/* Sorts rows with samples first, then by total, greatest first. */
static int compare_to_keep(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	if ((x->seen > 0) != (y->seen > 0)) {
		return x->seen > 0 ? -1 : 1;
	}
	if (x->total != y->total) {
		return x->total < y->total ? 1 : -1;
	}
	return strcmp(x->name, y->name);
}

/* Adds the steps and total of a row to the "_other" row, and frees its memory. */
static void join_row(struct report_row *others, struct report_row *row)
{
	others->total = count_sum(others->total, row->total);
	for (unsigned k = 0; k < REPORT_STEPS; k++) {
		others->steps[k] = count_sum(others->steps[k], row->steps[k]);
	}
	free(row->name);
	free(row->steps);
}

/* Merges half of the rows that are gone into "_other". Returns false without memory. */
static bool join_gone(struct report_series *series, size_t gone)
{
	struct report_row *others = find_row(series, other_name);
	size_t kept = series->count - gone + REPORT_GONE_MOST / 2;
	uint64_t other_key = hash_name(other_name), seen;

	if (!others) {
		return false;
	}
	/* "_other" must stay even if no sample has this name, so it is sorted as if it had one. */
	seen = others->seen;
	others->seen = UINT64_MAX;
	sort_items(series->rows, series->count, sizeof *series->rows, compare_to_keep);
	for (others = series->rows; others->key != other_key;) {
		others++;
	}
	others->seen = seen;
	for (size_t i = kept; i < series->count; i++) {
		join_row(others, &series->rows[i]);
	}
	series->count = kept;
	map_done(&series->by_name);
	series->by_name = (struct map){ 0 };
	for (size_t i = 0; i < kept; i++) {
		uint64_t *index = map_put(&series->by_name, series->rows[i].key, NULL);

		if (!index) {
			return false;
		}
		*index = i;
	}
	return true;
}

/* Adds the growth since the last visit to the totals. Returns false without memory. */
static bool end_visit(struct report_series *series)
{
	size_t gone = 0;

	for (size_t i = 0; i < series->count; i++) {
		struct report_row *row = &series->rows[i];

		row->total =
			count_sum(row->total, row->next > row->seen ? row->next - row->seen : 0);
		row->seen = row->next;
		row->next = 0;
		gone += row->seen == 0;
	}
	return gone <= REPORT_GONE_MOST || join_gone(series, gone);
}

/* Reads the present values of the counters. */
static void read_counters(struct report_charted *charted, struct registry *registry)
{
	struct registry_reading reading = { .charted = charted };
	const struct registry_visitor visitor = { .wants = begin_family,
						  .on_sample = add_sample,
						  .context = &reading };

	charted->failed |= !registry_visit(registry, &visitor);
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		charted->failed |= !end_visit(&charted->series[i]);
	}
}

/* ---- steps ---- */

/* The first steps have the length for the header's duration, halved this many times. */
enum { SHORTER = 4 };

/* Returns the shortest usual unit of time that divides the time into at most REPORT_STEPS steps. */
static int64_t choose_step(int64_t time)
{
	static const int64_t lengths[] = {
		100,         200,          500,          MS,           2 * MS,        5 * MS,
		10 * MS,     20 * MS,      50 * MS,      100 * MS,     200 * MS,      500 * MS,
		SECOND,      2 * SECOND,   5 * SECOND,   10 * SECOND,  15 * SECOND,   30 * SECOND,
		60 * SECOND, 120 * SECOND, 300 * SECOND, 600 * SECOND, 1800 * SECOND, 3600 * SECOND,
	};
	size_t i = 0;

	while (i + 1 < sizeof lengths / sizeof lengths[0] &&
	       time / lengths[i] >= REPORT_STEPS - 1) {
		i++;
	}
	return lengths[i];
}

static void begin_steps(struct report_steps *steps, int64_t time)
{
	bool known = steps->guess > time && steps->guess < TIME_10000;

	steps->step = known ? choose_step(steps->guess - time) : MS;
	steps->origin = time - (int64_t)(etw_time_since_1970(time) % (uint64_t)steps->step);
	for (unsigned i = 0; known && i < SHORTER && steps->step % (2 * MICROSECOND) == 0; i++) {
		steps->step /= 2;
	}
	steps->first = steps->last = time;
	steps->current = 0;
}

/* Joins each two steps into one. */
static void join_steps(struct report_charted *charted)
{
	unsigned half = charted->steps.current / 2;

	charted->steps.step *= 2;
	charted->steps.current = half;
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		for (size_t j = 0; j < charted->series[i].count; j++) {
			uint64_t *values = charted->series[i].rows[j].steps;

			for (unsigned k = 0; k < half; k++) {
				values[k] = values[2 * k + 1];
			}
		}
	}
}

/* Stores the present totals as those at the end of the steps from first to end - 1. */
static void fill_steps(struct report_charted *charted, unsigned first, unsigned end)
{
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		for (size_t j = 0; j < charted->series[i].count; j++) {
			const struct report_row *row = &charted->series[i].rows[j];

			for (unsigned k = first; k < end; k++) {
				row->steps[k] = row->total;
			}
		}
	}
}

void report_sample(struct report_charted *charted, struct registry *registry, int64_t time)
{
	struct report_steps *steps = &charted->steps;
	uint64_t step;

	steps->records++;
	if (time < ETW_TIME_1970 || time >= TIME_10000) { /* includes ETW_RECORD_NO_TIME */
		steps->outside++;
		return;
	}
	if (steps->records - steps->outside <= 2) {
		begin_steps(steps, time);
		return;
	}
	steps->first = time < steps->first ? time : steps->first;
	steps->last = time > steps->last ? time : steps->last;
	if (time < steps->origin) {
		return;
	}
	/*
	 * The counts so far belong to the steps before this one. They are stored before steps are
	 * joined, because joining reads them.
	 */
	step = (uint64_t)(time - steps->origin) / (uint64_t)steps->step;
	if (step > steps->current) {
		unsigned end = step < REPORT_STEPS ? (unsigned)step : REPORT_STEPS;

		read_counters(charted, registry);
		fill_steps(charted, steps->current, end);
		steps->current = end;
	}
	while (step >= REPORT_STEPS) {
		join_steps(charted);
		step /= 2;
		fill_steps(charted, steps->current,
			   step < REPORT_STEPS ? (unsigned)step : REPORT_STEPS);
		steps->current = step < REPORT_STEPS ? (unsigned)step : REPORT_STEPS;
	}
}

/* ---- the end ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	if (x->total != y->total) {
		return x->total < y->total ? 1 : -1;
	}
	return strcmp(x->name, y->name);
}

static void finish_series(struct report_series *series, enum report_form form, unsigned steps)
{
	if (form != REPORT_BUCKETS && series->count > 0) {
		sort_items(series->rows, series->count, sizeof *series->rows, compare_rows);
	}
	for (size_t i = 0; i < series->count; i++) {
		series->total = count_sum(series->total, series->rows[i].total);
	}
	for (unsigned k = 0; k < steps; k++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < series->count; i++) {
			sum = count_sum(sum, report_growth(&series->rows[i], k));
		}
		series->most = sum > series->most ? sum : series->most;
	}
}

void report_finish(struct report_charted *charted, struct registry *registry)
{
	read_counters(charted, registry);
	fill_steps(charted, charted->steps.current, charted->steps.current + 1);
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		finish_series(&charted->series[i], report_charts[i].form,
			      charted->steps.current + 1);
	}
}

void report_charted_done(struct report_charted *charted)
{
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		struct report_series *series = &charted->series[i];

		for (size_t j = 0; j < series->count; j++) {
			free(series->rows[j].name);
			free(series->rows[j].steps);
		}
		free(series->rows);
		map_done(&series->by_name);
	}
}
