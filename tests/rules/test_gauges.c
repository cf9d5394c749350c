/* SPDX-License-Identifier: MIT */
/*
 * The table behind `set` gauges: a value for each running process, their sum in the sample.
 */
#include "rules/engine/gauges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
	struct gauges *gauges;
	cell a[2], b[2]; /* of gauges */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct error err;

	assert_non_null(fixture);
	fixture->gauges = gauges_new(&err);
	assert_non_null(fixture->gauges);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	gauges_free(fixture->gauges);
	free(fixture);
	return 0;
}

static uint64_t value(const cell *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static void a_sample_is_the_sum_over_instances(void **state)
{
	struct fixture *fixture = *state;

	gauges_set(fixture->gauges, 1, fixture->a, 10, 1);
	gauges_set(fixture->gauges, 2, fixture->a, 5, 1);
	gauges_set(fixture->gauges, 1, fixture->b, 3, 1);
	gauges_set(fixture->gauges, 1, fixture->a, 4, 1);
	assert_int_equal(value(fixture->a), 9);
	assert_int_equal(value(fixture->b), 3);
	assert_int_equal(gauges_count(fixture->gauges), 3);
}

static void an_exit_takes_all_shares_of_an_instance(void **state)
{
	struct fixture *fixture = *state;

	gauges_set(fixture->gauges, 1, fixture->a, 10, 1);
	gauges_set(fixture->gauges, 2, fixture->a, 5, 1);
	gauges_set(fixture->gauges, 1, fixture->b, 3, 1);
	gauges_end_instance(fixture->gauges, 1, 1);
	gauges_end_instance(fixture->gauges, 3, 1);
	assert_int_equal(value(fixture->a), 5);
	assert_int_equal(value(fixture->b), 0);
	gauges_set(fixture->gauges, 1, fixture->a, 1, 1);
	assert_int_equal(value(fixture->a), 6);
	gauges_reset(fixture->gauges);
	assert_int_equal(value(fixture->a), 0);
	assert_int_equal(gauges_count(fixture->gauges), 0);
}

static void the_table_is_bounded_and_the_oldest_goes(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < GAUGES_MAX; i++) {
		gauges_set(fixture->gauges, i + 1, fixture->a, 1, 1);
	}
	assert_int_equal(value(fixture->a), GAUGES_MAX);
	assert_int_equal(gauges_evictions(fixture->gauges), 0);
	for (uint64_t i = 0; i < 100; i++) {
		gauges_set(fixture->gauges, GAUGES_MAX + i + 1, fixture->b, 1, 1);
	}
	assert_int_equal(value(fixture->a), GAUGES_MAX - 100);
	assert_int_equal(value(fixture->b), 100);
	assert_int_equal(gauges_count(fixture->gauges), GAUGES_MAX);
	assert_int_equal(gauges_evictions(fixture->gauges), 100);
	for (uint64_t i = 0; i < GAUGES_MAX + 100; i++) {
		gauges_end_instance(fixture->gauges, i + 1, 1);
	}
	assert_int_equal(value(fixture->a), 0);
	assert_int_equal(value(fixture->b), 0);
	assert_int_equal(gauges_count(fixture->gauges), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sample_is_the_sum_over_instances, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_exit_takes_all_shares_of_an_instance, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_table_is_bounded_and_the_oldest_goes, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
