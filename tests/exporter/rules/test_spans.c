/* SPDX-License-Identifier: MIT */
/*
 * The table of beginnings that wait for their end.
 */
#include <etw/record.h>

#include "exporter/rules/engine/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/intern.h"

enum { SKEW = 3 };

static uint32_t captured[SPAN_CAPTURED_MAX];

static struct spans *make(uint64_t first_timeout, uint64_t second_timeout)
{
	const uint64_t timeouts[] = { first_timeout, second_timeout };
	struct etw_error err;
	struct spans *spans = spans_new(timeouts, 2, SKEW, &err);

	assert_non_null(spans);
	return spans;
}

static void assert_statistics(const struct spans *spans, uint64_t entries, uint64_t evictions,
			      uint64_t starts, uint64_t stops)
{
	const struct spans_statistics *statistics = spans_statistics(spans);

	assert_int_equal(statistics->entries, entries);
	assert_int_equal(statistics->evictions, evictions);
	assert_int_equal(statistics->unmatched_starts, starts);
	assert_int_equal(statistics->unmatched_stops, stops);
}

/* The time since the start. */
static bool stop(struct spans *spans, size_t span, uint64_t key, int64_t time, uint64_t *ticks)
{
	int64_t start;

	if (!spans_stop(spans, span, key, time, &start, captured)) {
		return false;
	}
	*ticks = etw_time_between(start, time);
	return true;
}

static void an_end_takes_its_beginning_once(void **state)
{
	struct spans *spans = make(100, 100);
	uint64_t ticks = 7;

	(void)state;
	assert_false(stop(spans, 0, 5, 10, &ticks));
	assert_int_equal(ticks, 7);
	spans_start(spans, 0, 5, 10);
	assert_false(stop(spans, 0, 6, 20, &ticks));
	assert_false(stop(spans, 1, 5, 20, &ticks));
	assert_statistics(spans, 1, 0, 0, 3);
	assert_true(stop(spans, 0, 5, 35, &ticks));
	assert_int_equal(ticks, 25);
	assert_false(stop(spans, 0, 5, 36, &ticks));
	assert_statistics(spans, 0, 0, 0, 4);
	spans_free(spans);
}

static void a_start_in_use_stays_and_waits_anew(void **state)
{
	struct spans *spans = make(100, 100);
	uint64_t ticks;

	(void)state;
	assert_false(spans_use(spans, 0, 5, 10, captured));
	spans_start(spans, 0, 5, 10)[0] = 42;
	spans_start(spans, 0, 6, 20)[0] = 43;
	for (int64_t time = 100; time <= 300; time += 100) {
		assert_true(spans_use(spans, 0, 5, time, captured));
		assert_int_equal(captured[0], 42);
	}
	/* The other one has timed out, although it started later. */
	assert_statistics(spans, 1, 0, 1, 1);
	/* One that comes late does not shorten the wait. */
	assert_true(spans_use(spans, 0, 5, 299, captured));
	assert_true(spans_use(spans, 0, 5, 400, captured));
	assert_false(spans_use(spans, 0, 5, 501, captured));
	/* It has had its stops, so only the other one is a start without a stop. */
	assert_statistics(spans, 0, 0, 1, 2);
	assert_false(stop(spans, 0, 5, 502, &ticks));
	spans_free(spans);
}

/* A session may deliver the events of one processor late: a stop that another stop overtook is
 * after the start nevertheless, and a start that a stop overtook is a later one than the start in
 * use. */
static void a_start_in_use_keeps_its_own_time(void **state)
{
	struct spans *spans = make(100, 100);

	(void)state;
	spans_start(spans, 0, 5, 10)[0] = 42;
	assert_true(spans_use(spans, 0, 5, 80, captured));
	assert_true(spans_use(spans, 0, 5, 50, captured));
	assert_int_equal(captured[0], 42);
	assert_false(spans_use(spans, 0, 5, 6, captured));
	spans_start(spans, 0, 5, 70)[0] = 43;
	assert_true(spans_use(spans, 0, 5, 90, captured));
	assert_int_equal(captured[0], 43);
	assert_false(spans_use(spans, 0, 5, 60, captured));
	assert_statistics(spans, 1, 0, 0, 2);
	spans_free(spans);
}

/* A table that takes over starts has their times and their last stops. */
static void a_start_that_is_taken_over_keeps_its_own_time(void **state)
{
	struct spans *former = make(100, 100), *spans = make(100, 100);
	const uint16_t numbers[] = { 0, 1 };

	(void)state;
	spans_start(former, 0, 5, 10)[0] = 42;
	assert_true(spans_use(former, 0, 5, 80, captured));
	spans_take_over(spans, former, numbers);
	spans_free(former);
	assert_true(spans_use(spans, 0, 5, 50, captured));
	assert_true(spans_use(spans, 0, 5, 180, captured));
	assert_int_equal(captured[0], 42);
	assert_statistics(spans, 1, 0, 0, 0);
	spans_free(spans);
}

static void a_second_start_replaces_the_first(void **state)
{
	struct spans *spans = make(100, 100);
	uint64_t ticks;

	(void)state;
	spans_start(spans, 0, 5, 10);
	spans_start(spans, 0, 5, 30);
	assert_statistics(spans, 1, 0, 1, 0);
	assert_true(stop(spans, 0, 5, 35, &ticks));
	assert_int_equal(ticks, 5);
	spans_free(spans);
}

static void an_end_that_seems_earlier_has_its_start(void **state)
{
	struct spans *spans = make(100, 100);
	int64_t start = 0;

	(void)state;
	spans_start(spans, 0, 5, 10);
	assert_true(spans_stop(spans, 0, 5, 8, &start, captured));
	assert_int_equal(start, 10);
	spans_start(spans, 0, 5, INT64_MIN + 1);
	assert_false(spans_stop(spans, 0, 5, INT64_MAX, &start, captured));
	spans_free(spans);
}

static void a_start_or_stop_that_comes_late_does_not_touch_newer_ones(void **state)
{
	struct spans *spans = make(100, 100);
	uint64_t ticks = 7;

	(void)state;
	assert_false(stop(spans, 0, 5, 20, &ticks));
	spans_start(spans, 0, 5, 30);
	assert_null(spans_start(spans, 0, 5, 10));
	assert_statistics(spans, 1, 0, 1, 1);
	assert_false(stop(spans, 0, 5, 30 - SKEW - 1, &ticks));
	assert_int_equal(ticks, 7);
	assert_statistics(spans, 1, 0, 1, 2);
	assert_true(stop(spans, 0, 5, 41, &ticks));
	assert_int_equal(ticks, 11);
	spans_free(spans);
}

static void what_does_not_end_in_time_is_given_up(void **state)
{
	struct spans *spans = make(100, 1000);
	uint64_t ticks;

	(void)state;
	spans_start(spans, 0, 1, 0);
	spans_start(spans, 1, 1, 0);
	spans_start(spans, 0, 2, 50);
	spans_start(spans, 0, 3, 101);
	assert_statistics(spans, 3, 0, 1, 0);
	assert_true(stop(spans, 0, 2, 150, &ticks)); /* the very last moment */
	assert_false(stop(spans, 0, 3, 202, &ticks));
	assert_statistics(spans, 1, 0, 2, 1);
	assert_true(stop(spans, 1, 1, 1000, &ticks));
	assert_statistics(spans, 0, 0, 2, 1);
	spans_free(spans);
}

static void the_table_is_bounded_and_the_oldest_goes(void **state)
{
	struct spans *spans = make(UINT64_MAX, UINT64_MAX);
	uint64_t ticks;

	(void)state;
	for (int64_t i = 0; i < SPANS_MAX + 10; i++) {
		spans_start(spans, (size_t)(i % 2), (uint64_t)i, i);
	}
	assert_statistics(spans, SPANS_MAX, 10, 10, 0);
	for (int64_t i = 0; i < SPANS_MAX + 10; i++) {
		assert_int_equal(stop(spans, (size_t)(i % 2), (uint64_t)i, i + 3, &ticks), i >= 10);
	}
	assert_statistics(spans, 0, 10, 10, 10);
	spans_start(spans, 0, 1, 0);
	assert_statistics(spans, 1, 10, 10, 10);
	spans_free(spans);
}

static void a_reset_forgets_all(void **state)
{
	struct spans *spans = make(100, 100);
	uint64_t ticks;

	(void)state;
	spans_start(spans, 0, 1, 0);
	spans_start(spans, 1, 2, 0);
	spans_reset(spans);
	assert_statistics(spans, 0, 0, 2, 0);
	assert_false(stop(spans, 0, 1, 1, &ticks));
	spans_start(spans, 0, 1, 2);
	assert_true(stop(spans, 0, 1, 3, &ticks));
	spans_free(spans);
}

static void a_start_has_ids_for_its_stop(void **state)
{
	static const uint32_t nothing[SPAN_CAPTURED_MAX] = { INTERN_NONE };
	struct spans *spans = make(100, 100);
	uint64_t ticks;
	uint32_t *place;

	(void)state;
	assert_null(spans_captured(spans, 0, 5, 10));
	place = spans_start(spans, 0, 5, 10);
	assert_memory_equal(place, nothing, sizeof nothing);
	place[0] = 7;
	spans_start(spans, 0, 6, 10)[0] = 8;
	spans_start(spans, 1, 5, 10)[0] = 9;
	spans_captured(spans, 0, 5, 20)[SPAN_CAPTURED_MAX - 1] = 3;
	assert_true(stop(spans, 0, 5, 35, &ticks));
	assert_int_equal(captured[0], 7);
	assert_int_equal(captured[SPAN_CAPTURED_MAX - 1], 3);
	assert_null(spans_captured(spans, 0, 5, 36));
	assert_true(stop(spans, 0, 6, 36, &ticks));
	assert_int_equal(captured[0], 8);
	/* A place that was in use before is empty again. */
	assert_memory_equal(spans_start(spans, 0, 5, 40), nothing, sizeof nothing);
	/* What timed out is found no more. */
	assert_null(spans_captured(spans, 1, 5, 111));
	assert_statistics(spans, 1, 0, 1, 0);
	spans_free(spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_takes_its_beginning_once),
		cmocka_unit_test(a_start_has_ids_for_its_stop),
		cmocka_unit_test(a_start_in_use_stays_and_waits_anew),
		cmocka_unit_test(a_start_in_use_keeps_its_own_time),
		cmocka_unit_test(a_start_that_is_taken_over_keeps_its_own_time),
		cmocka_unit_test(a_second_start_replaces_the_first),
		cmocka_unit_test(an_end_that_seems_earlier_has_its_start),
		cmocka_unit_test(a_start_or_stop_that_comes_late_does_not_touch_newer_ones),
		cmocka_unit_test(what_does_not_end_in_time_is_given_up),
		cmocka_unit_test(the_table_is_bounded_and_the_oldest_goes),
		cmocka_unit_test(a_reset_forgets_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
