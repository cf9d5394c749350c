/* SPDX-License-Identifier: MIT */
/*
 * The table of beginnings that wait for their end.
 */
#include "rules/engine/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/intern.h"

static uint32_t carried[PAIR_CARRIED_MAX];

static struct pairs *make(uint64_t first_timeout, uint64_t second_timeout)
{
	const uint64_t timeouts[] = { first_timeout, second_timeout };
	struct error err;
	struct pairs *pairs = pairs_new(timeouts, 2, &err);

	assert_non_null(pairs);
	return pairs;
}

static void assert_statistics(const struct pairs *pairs, uint64_t entries, uint64_t evictions,
			      uint64_t starts, uint64_t stops)
{
	const struct pairs_statistics *statistics = pairs_statistics(pairs);

	assert_int_equal(statistics->entries, entries);
	assert_int_equal(statistics->evictions, evictions);
	assert_int_equal(statistics->unmatched_starts, starts);
	assert_int_equal(statistics->unmatched_stops, stops);
}

static void an_end_takes_its_beginning_once(void **state)
{
	struct pairs *pairs = make(100, 100);
	uint64_t ticks = 7;

	(void)state;
	assert_false(pairs_end(pairs, 0, 5, 10, &ticks, carried));
	assert_int_equal(ticks, 7);
	pairs_begin(pairs, 0, 5, 10);
	assert_false(pairs_end(pairs, 0, 6, 20, &ticks, carried));
	assert_false(pairs_end(pairs, 1, 5, 20, &ticks, carried));
	assert_statistics(pairs, 1, 0, 0, 3);
	assert_true(pairs_end(pairs, 0, 5, 35, &ticks, carried));
	assert_int_equal(ticks, 25);
	assert_false(pairs_end(pairs, 0, 5, 36, &ticks, carried));
	assert_statistics(pairs, 0, 0, 0, 4);
	pairs_free(pairs);
}

static void a_beginning_anew_replaces_the_other(void **state)
{
	struct pairs *pairs = make(100, 100);
	uint64_t ticks;

	(void)state;
	pairs_begin(pairs, 0, 5, 10);
	pairs_begin(pairs, 0, 5, 30);
	assert_statistics(pairs, 1, 0, 1, 0);
	assert_true(pairs_end(pairs, 0, 5, 35, &ticks, carried));
	assert_int_equal(ticks, 5);
	pairs_free(pairs);
}

static void an_end_that_seems_earlier_took_no_time(void **state)
{
	struct pairs *pairs = make(100, 100);
	uint64_t ticks;

	(void)state;
	pairs_begin(pairs, 0, 5, 10);
	assert_true(pairs_end(pairs, 0, 5, 8, &ticks, carried));
	assert_int_equal(ticks, 0);
	pairs_begin(pairs, 0, 5, INT64_MIN + 1);
	assert_false(pairs_end(pairs, 0, 5, INT64_MAX, &ticks, carried));
	pairs_free(pairs);
}

static void what_does_not_end_in_time_is_given_up(void **state)
{
	struct pairs *pairs = make(100, 1000);
	uint64_t ticks;

	(void)state;
	pairs_begin(pairs, 0, 1, 0);
	pairs_begin(pairs, 1, 1, 0);
	pairs_begin(pairs, 0, 2, 50);
	pairs_begin(pairs, 0, 3, 101);
	assert_statistics(pairs, 3, 0, 1, 0);
	assert_true(pairs_end(pairs, 0, 2, 150, &ticks, carried)); /* the very last moment */
	assert_false(pairs_end(pairs, 0, 3, 202, &ticks, carried));
	assert_statistics(pairs, 1, 0, 2, 1);
	assert_true(pairs_end(pairs, 1, 1, 1000, &ticks, carried));
	assert_statistics(pairs, 0, 0, 2, 1);
	pairs_free(pairs);
}

static void the_table_is_bounded_and_the_oldest_goes(void **state)
{
	struct pairs *pairs = make(UINT64_MAX, UINT64_MAX);
	uint64_t ticks;

	(void)state;
	for (int64_t i = 0; i < PAIRS_MAX + 10; i++) {
		pairs_begin(pairs, (size_t)(i % 2), (uint64_t)i, i);
	}
	assert_statistics(pairs, PAIRS_MAX, 10, 10, 0);
	for (int64_t i = 0; i < PAIRS_MAX + 10; i++) {
		assert_int_equal(pairs_end(pairs, (size_t)(i % 2), (uint64_t)i, i + 3, &ticks,
					   carried),
				 i >= 10);
	}
	assert_statistics(pairs, 0, 10, 10, 10);
	pairs_begin(pairs, 0, 1, 0);
	assert_statistics(pairs, 1, 10, 10, 10);
	pairs_free(pairs);
}

static void a_reset_forgets_all(void **state)
{
	struct pairs *pairs = make(100, 100);
	uint64_t ticks;

	(void)state;
	pairs_begin(pairs, 0, 1, 0);
	pairs_begin(pairs, 1, 2, 0);
	pairs_reset(pairs);
	assert_statistics(pairs, 0, 0, 2, 0);
	assert_false(pairs_end(pairs, 0, 1, 1, &ticks, carried));
	pairs_begin(pairs, 0, 1, 2);
	assert_true(pairs_end(pairs, 0, 1, 3, &ticks, carried));
	pairs_free(pairs);
}

static void a_beginning_carries_ids_to_its_end(void **state)
{
	static const uint32_t nothing[PAIR_CARRIED_MAX] = { INTERN_NONE };
	struct pairs *pairs = make(100, 100);
	uint64_t ticks;
	uint32_t *place;

	(void)state;
	assert_null(pairs_carried(pairs, 0, 5, 10));
	place = pairs_begin(pairs, 0, 5, 10);
	assert_memory_equal(place, nothing, sizeof nothing);
	place[0] = 7;
	pairs_begin(pairs, 0, 6, 10)[0] = 8;
	pairs_begin(pairs, 1, 5, 10)[0] = 9;
	pairs_carried(pairs, 0, 5, 20)[PAIR_CARRIED_MAX - 1] = 3;
	assert_true(pairs_end(pairs, 0, 5, 35, &ticks, carried));
	assert_int_equal(carried[0], 7);
	assert_int_equal(carried[PAIR_CARRIED_MAX - 1], 3);
	assert_null(pairs_carried(pairs, 0, 5, 36));
	assert_true(pairs_end(pairs, 0, 6, 36, &ticks, carried));
	assert_int_equal(carried[0], 8);
	/* A place that was in use before is empty again. */
	assert_memory_equal(pairs_begin(pairs, 0, 5, 40), nothing, sizeof nothing);
	/* What timed out is found no more. */
	assert_null(pairs_carried(pairs, 1, 5, 111));
	assert_statistics(pairs, 1, 0, 1, 0);
	pairs_free(pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_takes_its_beginning_once),
		cmocka_unit_test(a_beginning_carries_ids_to_its_end),
		cmocka_unit_test(a_beginning_anew_replaces_the_other),
		cmocka_unit_test(an_end_that_seems_earlier_took_no_time),
		cmocka_unit_test(what_does_not_end_in_time_is_given_up),
		cmocka_unit_test(the_table_is_bounded_and_the_oldest_goes),
		cmocka_unit_test(a_reset_forgets_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
