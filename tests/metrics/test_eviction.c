/* SPDX-License-Identifier: MIT */
/*
 * Label sets that make room: which ones, when, and that neither a consumer nor a scrape ever meets
 * one that has changed its labels.
 */
#include "metrics/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/exposition.h"
#include "tests/support/page.h"

enum { LIMIT = 16 };

#define SECOND INT64_C(10000000)
#define MINUTE (60 * SECOND)

struct fixture {
	struct registry *registry;
	struct shard *shard;
	struct family *family;
	unsigned forgotten; /* calls of forget_cells */
};

static const struct family_options by_process = {
	.name = "etw_events_total",
	.help = "Events.",
	.type = FAMILY_COUNTER,
	.labels = { "process", "provider" },
	.label_count = 2,
	.dynamic_labels = 1,
};

static void forget(void *context)
{
	++*(unsigned *)context;
}

static struct shard *consumer(struct registry *registry, unsigned *forgotten)
{
	struct shard *shard = registry_shard(registry, false, NULL);

	assert_non_null(shard);
	shard_attend(shard, &(struct shard_owner){ .context = forgotten, .forget_cells = forget });
	return shard;
}

static void set_up(struct fixture *fixture, const struct family_options *options,
		   uint64_t idle_100ns)
{
	struct registry_limits limits = { .series_per_family = LIMIT, .idle_100ns = idle_100ns };

	*fixture = (struct fixture){ .registry = registry_new(&limits, NULL) };
	assert_non_null(fixture->registry);
	fixture->shard = consumer(fixture->registry, &fixture->forgotten);
	fixture->family = registry_family(fixture->registry, options, NULL);
	assert_non_null(fixture->family);
}

static void label(struct fixture *fixture, const char *name, unsigned number, uint32_t ids[2])
{
	struct intern *strings = registry_strings(fixture->registry);
	char text[32];

	snprintf(text, sizeof text, "%s%u", name, number);
	ids[0] = intern_string(strings, text);
	ids[1] = intern_string(strings, "p");
}

static void count(struct fixture *fixture, const char *name, unsigned number, uint64_t amount)
{
	uint32_t ids[2];

	label(fixture, name, number, ids);
	family_add(fixture->family, fixture->shard, ids, amount);
}

static bool has_series(struct fixture *fixture, const char *name, unsigned number)
{
	uint32_t ids[2];
	int64_t value;

	label(fixture, name, number, ids);
	return family_value(fixture->family, ids, &value);
}

/* As many programs as the family has room for run at 0, and none after that. */
static void fill(struct fixture *fixture)
{
	for (unsigned i = 0; i < LIMIT; i++) {
		count(fixture, "odd", i, i + 1);
	}
	shard_tend(fixture->shard, 0, 10 * SECOND);
}

/* ---- which ones make room ---- */

static void after_odd_names_a_service_has_its_own_series(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 0);
	fill(&fixture);
	shard_tend(fixture.shard, 10 * SECOND, 11 * MINUTE);
	count(&fixture, "sqlservr", 0, 1 << 30);
	page_expect(fixture.registry,
		    "etw_events_total{process=\"sqlservr0\",provider=\"p\"} 1073741824\n");
	page_expect_none(fixture.registry, "_other");
	/* An eighth of 16. */
	page_expect(fixture.registry,
		    "etw_exporter_series_evicted_total{metric=\"etw_events_total\"} 2\n");
	assert_int_equal(family_series(fixture.family), LIMIT - 2 + 1);
	registry_free(fixture.registry);
}

static void names_that_ended_less_than_a_minute_ago_stay(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 0);
	fill(&fixture);
	shard_tend(fixture.shard, 10 * SECOND, MINUTE - 1);
	page_expect_none(fixture.registry, "etw_exporter_series_evicted_total{");
	count(&fixture, "sqlservr", 0, 1);
	page_expect(fixture.registry, "etw_events_total{process=\"_other\",provider=\"p\"} 1\n");
	shard_tend(fixture.shard, MINUTE - 1, MINUTE);
	count(&fixture, "sqlservr", 0, 1);
	page_expect(fixture.registry, "etw_events_total{process=\"sqlservr0\",provider=\"p\"} 1\n");
	registry_free(fixture.registry);
}

static void a_family_with_room_gives_nothing_back(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 0);
	for (unsigned i = 0; i < LIMIT / 2; i++) {
		count(&fixture, "odd", i, 1);
	}
	shard_tend(fixture.shard, 0, MINUTE);
	shard_tend(fixture.shard, MINUTE, 600 * MINUTE);
	assert_int_equal(family_series(fixture.family), LIMIT / 2);
	registry_free(fixture.registry);
}

static void the_name_that_ended_longest_ago_goes_first(void **state)
{
	struct fixture fixture;
	uint32_t ids[2];

	(void)state;
	set_up(&fixture, &by_process, 0);
	fill(&fixture);
	for (unsigned i = 0; i < LIMIT; i++) {
		label(&fixture, "odd", i, ids);
		registry_alive(fixture.registry, ids[0], i == 7 || i == 9 ? MINUTE : 2 * MINUTE);
	}
	shard_tend(fixture.shard, 10 * SECOND, 30 * MINUTE);
	for (unsigned i = 0; i < LIMIT; i++) {
		assert_int_equal(has_series(&fixture, "odd", i), i != 7 && i != 9);
	}
	registry_free(fixture.registry);
}

static void a_process_that_runs_keeps_its_series(void **state)
{
	struct fixture fixture;
	uint32_t ids[2];

	(void)state;
	set_up(&fixture, &by_process, 0);
	fill(&fixture);
	for (unsigned i = 0; i < LIMIT - 1; i++) {
		label(&fixture, "odd", i, ids);
		registry_alive(fixture.registry, ids[0], 30 * MINUTE);
	}
	shard_tend(fixture.shard, 10 * SECOND, 30 * MINUTE);
	assert_int_equal(family_series(fixture.family), LIMIT - 1);
	assert_false(has_series(&fixture, "odd", LIMIT - 1));
	registry_free(fixture.registry);
}

static void what_changes_keeps_its_series(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 0);
	fill(&fixture);
	for (int64_t minute = 1; minute < 30; minute++) {
		count(&fixture, "odd", 3, 1);
		shard_tend(fixture.shard, minute * MINUTE - 1, minute * MINUTE);
		for (unsigned i = 0; i < LIMIT && minute == 15; i++) {
			count(&fixture, "new", i, 1);
		}
	}
	assert_true(has_series(&fixture, "odd", 3));
	registry_free(fixture.registry);
}

static void idle_label_sets_go_from_a_family_with_room(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 60 * MINUTE);
	count(&fixture, "odd", 0, 1);
	count(&fixture, "odd", 1, 1);
	shard_tend(fixture.shard, 0, MINUTE);
	count(&fixture, "odd", 1, 1);
	shard_tend(fixture.shard, 2 * MINUTE, 3 * MINUTE);
	shard_tend(fixture.shard, 3 * MINUTE, 60 * MINUTE - 1);
	assert_int_equal(family_series(fixture.family), 2);
	shard_tend(fixture.shard, 3 * MINUTE, 60 * MINUTE);
	assert_false(has_series(&fixture, "odd", 0));
	assert_true(has_series(&fixture, "odd", 1));
	page_expect(fixture.registry,
		    "etw_exporter_series_evicted_total{metric=\"etw_events_total\"} 1\n");
	registry_free(fixture.registry);
}

static void overflow_series_and_kept_samples_stay(void **state)
{
	struct fixture fixture;
	uint32_t ids[2];

	(void)state;
	set_up(&fixture, &by_process, MINUTE);
	label(&fixture, "fixed", 0, ids);
	family_keep(fixture.family, ids);
	for (unsigned i = 0; i < LIMIT; i++) {
		count(&fixture, "odd", i, 1);
	}
	shard_tend(fixture.shard, 0, SECOND);
	shard_tend(fixture.shard, SECOND, 100 * MINUTE);
	assert_true(has_series(&fixture, "fixed", 0));
	page_expect(fixture.registry, "etw_events_total{process=\"_other\",provider=\"p\"} 1\n");
	assert_int_equal(family_series(fixture.family), 2);
	registry_free(fixture.registry);
}

static void a_replay_that_starts_again_gives_nothing_back_too_early(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 0);
	fill(&fixture);
	for (unsigned i = 0; i < LIMIT; i++) {
		count(&fixture, "odd", i, 1);
	}
	shard_tend(fixture.shard, 300 * MINUTE - SECOND, 300 * MINUTE);
	/* The second loop begins at 0. */
	shard_tend(fixture.shard, 300 * MINUTE, 0);
	shard_tend(fixture.shard, 0, MINUTE - 1);
	assert_int_equal(family_series(fixture.family), LIMIT);
	shard_tend(fixture.shard, 0, MINUTE);
	assert_int_equal(family_series(fixture.family), LIMIT - 2);
	registry_free(fixture.registry);
}

/* ---- gauges ---- */

static struct family_options gauge_options(void)
{
	struct family_options options = by_process;

	options.name = "etw_things";
	options.type = FAMILY_GAUGE;
	return options;
}

/* A recording may be damaged: its times may jump between any two points. */
static void times_may_jump_between_the_earliest_and_the_latest(void **state)
{
	static const int64_t times[] = { 0,      INT64_MIN + 1, INT64_MAX,
					 -1,     INT64_MIN / 2, INT64_MAX / 2,
					 -SECOND };
	enum { TIMES = sizeof times / sizeof times[0] };
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 10 * MINUTE);
	for (unsigned from = 0; from < TIMES; from++) {
		for (unsigned to = 0; to < TIMES; to++) {
			count(&fixture, "odd", from, 1);
			shard_tend(fixture.shard, times[from], times[to]);
			shard_enter(fixture.shard);
			shard_tend(fixture.shard, times[to], times[from]);
			shard_enter(fixture.shard);
		}
	}
	/* A name that now counts stays until it is idle, even if the clock has jumped before. */
	shard_tend(fixture.shard, 0, 0);
	count(&fixture, "sqlservr", 0, 1);
	shard_tend(fixture.shard, 0, SECOND);
	shard_tend(fixture.shard, SECOND, MINUTE);
	assert_true(has_series(&fixture, "sqlservr", 0));
	registry_free(fixture.registry);
}

static void hidden_gauges_are_given_back_and_not_counted(void **state)
{
	struct family_options options = gauge_options();
	struct fixture fixture;
	uint32_t ids[2];

	(void)state;
	set_up(&fixture, &options, 0);
	for (unsigned i = 0; i < 1000; i++) {
		bool overflowed;

		label(&fixture, "C:\\temp\\", i, ids);
		assert_non_null(family_cells(fixture.family, fixture.shard, ids, &overflowed));
		assert_false(overflowed);
		family_set(fixture.family, fixture.shard, ids, 1);
		shard_tend(fixture.shard, i * MINUTE, i * MINUTE + SECOND);
		assert_true(has_series(&fixture, "C:\\temp\\", i));
		family_hide_all(fixture.family, fixture.shard);
		shard_tend(fixture.shard, i * MINUTE + SECOND, i * MINUTE + 2 * SECOND);
	}
	shard_tend(fixture.shard, 1001 * MINUTE, 1002 * MINUTE);
	assert_int_equal(family_series(fixture.family), 0);
	page_expect_none(fixture.registry, "etw_exporter_series_evicted_total{");
	page_expect_none(fixture.registry, "etw_things");
	registry_free(fixture.registry);
}

static void a_gauge_that_is_not_zero_or_is_held_stays(void **state)
{
	struct family_options options = gauge_options();
	struct fixture fixture;
	uint32_t ids[2];
	cell *cells;

	(void)state;
	set_up(&fixture, &options, MINUTE);
	label(&fixture, "open", 0, ids);
	cells_move(family_cells(fixture.family, fixture.shard, ids, NULL), 5);
	label(&fixture, "held", 0, ids);
	cells = family_cells(fixture.family, fixture.shard, ids, NULL);
	cells_hold(cells);
	count(&fixture, "still", 0, 0);
	shard_tend(fixture.shard, 0, SECOND);
	shard_tend(fixture.shard, SECOND, 60 * MINUTE);
	assert_true(has_series(&fixture, "open", 0));
	assert_true(has_series(&fixture, "held", 0));
	assert_false(has_series(&fixture, "still", 0));
	cells_release(cells);
	shard_tend(fixture.shard, 60 * MINUTE, 61 * MINUTE);
	shard_tend(fixture.shard, 61 * MINUTE, 180 * MINUTE);
	assert_false(has_series(&fixture, "held", 0));
	page_expect(fixture.registry, "etw_things{process=\"open0\",provider=\"p\"} 5\n");
	registry_free(fixture.registry);
}

/* ---- consumers ---- */

/* Returns the second one, which is at work. */
static struct shard *set_up_two(struct fixture *fixture, unsigned *forgotten)
{
	struct shard *other;

	set_up(fixture, &by_process, 0);
	other = consumer(fixture->registry, forgotten);
	shard_enter(other);
	return other;
}

static void a_sample_waits_until_every_consumer_has_forgotten_it(void **state)
{
	struct fixture fixture;
	struct shard *other;
	unsigned forgotten = 0;
	uint32_t ids[2];
	cell *stale;

	(void)state;
	other = set_up_two(&fixture, &forgotten);
	label(&fixture, "odd", 0, ids);
	stale = family_cells(fixture.family, other, ids, NULL);
	fill(&fixture);
	shard_tend(fixture.shard, 10 * SECOND, 11 * MINUTE);
	/* The other consumer has not come by: nothing has left the page, and its addition counts.
	 */
	page_expect(fixture.registry, "etw_events_total{process=\"odd0\",provider=\"p\"} 1\n");
	page_expect_none(fixture.registry, "etw_exporter_series_evicted_total{");
	cell_add(stale, 41);
	forgotten = 0;
	shard_enter(other);
	assert_int_equal(forgotten, 1);
	page_expect(fixture.registry, "etw_events_total{process=\"odd0\",provider=\"p\"} 42\n");
	page_expect(fixture.registry,
		    "etw_exporter_series_evicted_total{metric=\"etw_events_total\"} 1\n");
	registry_free(fixture.registry);
}

/*
 * Tables have 16, 32, … slots of 4 bytes, with 16 bytes before them, and are half full before a
 * family grows. That of 8192 is the former one for the 4097th series.
 */
static void tables_from_before_a_large_family_grew_are_freed(void **state)
{
	enum { SERIES = 4097, FORMER_SLOTS = 16384 - 16, FORMER_TABLES = 10 };
	const struct registry_limits limits = { .series_per_family = 100000 };
	struct fixture fixture = { .registry = registry_new(&limits, NULL) };
	size_t grown;

	(void)state;
	fixture.shard = consumer(fixture.registry, &fixture.forgotten);
	fixture.family = registry_family(fixture.registry, &by_process, NULL);
	for (unsigned i = 0; i < SERIES; i++) {
		count(&fixture, "odd", i, i + 1);
	}
	grown = family_memory(fixture.family);
	shard_tend(fixture.shard, 0, 10 * SECOND);
	assert_int_equal(family_memory(fixture.family),
			 grown - FORMER_SLOTS * 4 - FORMER_TABLES * 16);
	for (unsigned i = 0; i < SERIES; i++) {
		assert_true(has_series(&fixture, "odd", i));
	}
	fixture.forgotten = 0;
	shard_tend(fixture.shard, 10 * SECOND, 20 * SECOND);
	assert_int_equal(fixture.forgotten, 0);
	registry_free(fixture.registry);
}

static void consumers_forget_nothing_for_the_tables_of_a_small_family(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, &by_process, 0);
	shard_enter(fixture.shard);
	fixture.forgotten = 0;
	fill(&fixture);
	assert_int_equal(fixture.forgotten, 0);
	registry_free(fixture.registry);
}

static void nothing_waits_for_a_consumer_that_waits(void **state)
{
	struct fixture fixture;
	struct shard *other;
	unsigned forgotten = 0;

	(void)state;
	other = set_up_two(&fixture, &forgotten);
	shard_leave(other);
	forgotten = 0;
	fill(&fixture);
	shard_tend(fixture.shard, 10 * SECOND, 11 * MINUTE);
	assert_int_equal(family_series(fixture.family), LIMIT - 2);
	shard_enter(other);
	assert_int_equal(forgotten, 1);
	shard_enter(other);
	assert_int_equal(forgotten, 1);
	registry_free(fixture.registry);
}

static void a_name_that_comes_back_meanwhile_keeps_its_counts(void **state)
{
	struct fixture fixture;
	struct shard *other;
	unsigned forgotten = 0;

	(void)state;
	other = set_up_two(&fixture, &forgotten);
	fill(&fixture);
	shard_tend(fixture.shard, 10 * SECOND, 11 * MINUTE);
	count(&fixture, "odd", 1, 5);
	count(&fixture, "odd", 1, 5);
	shard_enter(other);
	page_expect(fixture.registry, "etw_events_total{process=\"odd1\",provider=\"p\"} 12\n");
	page_expect(fixture.registry,
		    "etw_exporter_series_evicted_total{metric=\"etw_events_total\"} 1\n");
	registry_free(fixture.registry);
}

/* ---- scrapes ---- */

/* A sink that lets the consumer evict and reuse samples while the page is half written. */
enum { SCRAPED = 4000 };

struct meanwhile {
	struct fixture *fixture;
	struct etw_text page;
	unsigned calls;
	cell *cells[SCRAPED]; /* of the samples that the scrape may read */
	unsigned reused;      /* of these, before the scrape ended */
};

static bool is_read(const struct meanwhile *meanwhile, const cell *cells)
{
	for (unsigned i = 0; i < SCRAPED; i++) {
		if (meanwhile->cells[i] == cells) {
			return true;
		}
	}
	return false;
}

static bool reuse_meanwhile(void *context, const char *bytes, size_t size)
{
	struct meanwhile *meanwhile = context;
	struct fixture *fixture = meanwhile->fixture;

	text_add(&meanwhile->page, bytes, size);
	if (meanwhile->calls++ == 0) {
		shard_tend(fixture->shard, 0, 11 * MINUTE);
		for (unsigned i = 0; i < 2000; i++) {
			uint32_t ids[2];
			bool overflowed;
			cell *cells;

			label(fixture, "new", i, ids);
			cells = family_cells(fixture->family, fixture->shard, ids, &overflowed);
			cell_add(cells, 7);
			meanwhile->reused += is_read(meanwhile, cells) && !overflowed;
		}
	}
	return true;
}

static void a_scrape_never_shows_the_labels_of_one_with_the_value_of_another(void **state)
{
	struct family_options options = by_process;
	struct fixture fixture;
	struct meanwhile meanwhile = { .fixture = &fixture };
	size_t odd = 0;
	uint32_t ids[2];

	(void)state;
	options.max_series = SCRAPED;
	set_up(&fixture, &options, 0);
	for (unsigned i = 0; i < SCRAPED; i++) {
		label(&fixture, "odd", i, ids);
		meanwhile.cells[i] = family_cells(fixture.family, fixture.shard, ids, NULL);
		cell_add(meanwhile.cells[i], 3);
	}
	shard_tend(fixture.shard, 0, SECOND);
	exposition_write(fixture.registry, NULL, reuse_meanwhile, &meanwhile);
	text_add_char(&meanwhile.page, '\0');
	assert_true(meanwhile.calls > 1);
	assert_int_equal(meanwhile.reused, 0);
	for (const char *line = strstr(meanwhile.page.data, "\netw_events_total{"); line;
	     line = strstr(line + 1, "\netw_events_total{")) {
		const char *value = strstr(line, "} ") + 2;
		bool is_odd = strncmp(line + 27, "odd", 3) == 0;

		if (strncmp(line + 27, "_other", 6) != 0) {
			assert_int_equal(strtoul(value, NULL, 10), is_odd ? 3 : 7);
		}
		odd += is_odd;
	}
	assert_true(odd > 0);
	text_free(&meanwhile.page);
	/* The scrape is over: what it has held up is evicted. */
	shard_tend(fixture.shard, 11 * MINUTE, 22 * MINUTE);
	assert_true(family_series(fixture.family) <= SCRAPED + 1);
	registry_free(fixture.registry);
}

/* ---- for a long time ---- */

static void a_hundred_thousand_names_take_bounded_room(void **state)
{
	enum { NAMES = 100000, LIVE = 2000 };
	struct family_options options = by_process;
	struct fixture fixture;
	int64_t now = 0;
	uint32_t ids[2];

	(void)state;
	options.max_series = LIVE;
	set_up(&fixture, &options, 0);
	for (unsigned i = 0; i < NAMES; i++) {
		cell *at;
		bool overflowed;

		now += SECOND;
		if (i % 10 == 0) {
			shard_tend(fixture.shard, now - SECOND, now);
		}
		label(&fixture, "program", i, ids);
		at = family_cells(fixture.family, fixture.shard, ids, &overflowed);
		assert_false(overflowed);
		assert_int_equal(atomic_load(at), 0);
		cell_add(at, i + 1);
		assert_true(family_series(fixture.family) <= LIVE);
	}
	/* Ten minutes have 600 names; the samples were used again and again. Their texts stay, of
	 * which the default budget has room for six times as many. */
	assert_in_range(intern_spent(registry_strings(fixture.registry)), NAMES, (64 << 20) / 6);
	page_expect_none(fixture.registry, "_other");
	registry_free(fixture.registry);
}

/* ---- sorted pages ---- */

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* A page in the order of labels leaves out what was evicted, and keeps the order with what took
 * its place. */
static void a_sorted_page_has_no_samples_that_were_given_back(void **state)
{
	const struct exposition_options options = { .sorted = true };
	struct fixture fixture;
	struct etw_text page = { 0 };
	const char *last = "", *line;
	unsigned lines = 0;

	(void)state;
	set_up(&fixture, &by_process, 0);
	fill(&fixture);
	shard_tend(fixture.shard, 10 * SECOND, 11 * MINUTE);
	count(&fixture, "nnn", 0, 1);
	assert_true(exposition_write(fixture.registry, &options, append, &page));
	for (line = strstr(page.data, "etw_events_total{"); line;
	     line = strstr(line + 1, "\netw_events_total{"), lines++) {
		line += *line == '\n';
		assert_true(strncmp(last, line, strcspn(line, " ")) < 0);
		last = line;
	}
	assert_int_equal(lines, family_series(fixture.family));
	assert_true(lines < LIMIT);
	assert_non_null(strstr(page.data, "etw_events_total{process=\"nnn0\",provider=\"p\"} 1\n"));
	text_free(&page);
	registry_free(fixture.registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_odd_names_a_service_has_its_own_series),
		cmocka_unit_test(names_that_ended_less_than_a_minute_ago_stay),
		cmocka_unit_test(a_family_with_room_gives_nothing_back),
		cmocka_unit_test(the_name_that_ended_longest_ago_goes_first),
		cmocka_unit_test(a_process_that_runs_keeps_its_series),
		cmocka_unit_test(what_changes_keeps_its_series),
		cmocka_unit_test(idle_label_sets_go_from_a_family_with_room),
		cmocka_unit_test(overflow_series_and_kept_samples_stay),
		cmocka_unit_test(a_replay_that_starts_again_gives_nothing_back_too_early),
		cmocka_unit_test(times_may_jump_between_the_earliest_and_the_latest),
		cmocka_unit_test(hidden_gauges_are_given_back_and_not_counted),
		cmocka_unit_test(a_gauge_that_is_not_zero_or_is_held_stays),
		cmocka_unit_test(a_sample_waits_until_every_consumer_has_forgotten_it),
		cmocka_unit_test(tables_from_before_a_large_family_grew_are_freed),
		cmocka_unit_test(consumers_forget_nothing_for_the_tables_of_a_small_family),
		cmocka_unit_test(nothing_waits_for_a_consumer_that_waits),
		cmocka_unit_test(a_name_that_comes_back_meanwhile_keeps_its_counts),
		cmocka_unit_test(a_scrape_never_shows_the_labels_of_one_with_the_value_of_another),
		cmocka_unit_test(a_hundred_thousand_names_take_bounded_room),
		cmocka_unit_test(a_sorted_page_has_no_samples_that_were_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
