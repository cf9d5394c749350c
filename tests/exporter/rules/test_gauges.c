/* SPDX-License-Identifier: MIT */
/*
 * The table behind `set` gauges: a value for each running process, their sum in the sample.
 */
#include "exporter/rules/engine/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

struct fixture {
	struct gauges *gauges;
	cell a[2], b[2], c[2]; /* of gauges */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct etw_error err;

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

/* The value that was set first follows the later one in the list of the process. */
static void an_exit_leaves_what_was_set_after_it(void **state)
{
	struct fixture *fixture = *state;

	gauges_set(fixture->gauges, 1, fixture->a, 10, 1);
	gauges_set(fixture->gauges, 1, fixture->b, 3, 5);
	gauges_end_instance(fixture->gauges, 1, 4);
	assert_int_equal(value(fixture->a), 0);
	assert_int_equal(value(fixture->b), 3);
	assert_int_equal(gauges_count(fixture->gauges), 1);
	/* The list goes on from what is left. */
	gauges_set(fixture->gauges, 1, fixture->a, 7, 6);
	gauges_end_instance(fixture->gauges, 1, 6);
	assert_int_equal(value(fixture->a), 0);
	assert_int_equal(value(fixture->b), 0);
	assert_int_equal(gauges_count(fixture->gauges), 0);
}

static void an_older_value_does_not_replace_a_newer_one(void **state)
{
	struct fixture *fixture = *state;

	gauges_set(fixture->gauges, 1, fixture->a, 10, 5);
	gauges_set(fixture->gauges, 1, fixture->a, 99, 4);
	assert_int_equal(value(fixture->a), 10);
	/* Two events of one tick are in the order of the file. */
	gauges_set(fixture->gauges, 1, fixture->a, 11, 5);
	assert_int_equal(value(fixture->a), 11);
}

static bool is_cell(void *context, const cell *at)
{
	return at == context;
}

static void the_samples_of_a_family_leave_the_middle_of_a_list(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t instance = 1; instance <= 2; instance++) {
		gauges_set(fixture->gauges, instance, fixture->a, 10, 1);
		gauges_set(fixture->gauges, instance, fixture->b, 3, 1);
		gauges_set(fixture->gauges, instance, fixture->c, 1, 1);
	}
	gauges_leave(fixture->gauges, is_cell, fixture->b);
	assert_int_equal(value(fixture->a), 20);
	assert_int_equal(value(fixture->b), 0);
	assert_int_equal(value(fixture->c), 2);
	assert_int_equal(gauges_count(fixture->gauges), 4);
	gauges_end_instance(fixture->gauges, 1, 1);
	assert_int_equal(value(fixture->a), 10);
	assert_int_equal(value(fixture->c), 1);
	assert_int_equal(gauges_count(fixture->gauges), 2);
}

/* Each sample counts the values in it, so that it is not evicted before they have left. */
static void a_sample_is_held_once_for_each_value(void **state)
{
	struct fixture *fixture = *state;

	gauges_set(fixture->gauges, 1, fixture->a, 10, 1);
	gauges_set(fixture->gauges, 1, fixture->a, 11, 2);
	gauges_set(fixture->gauges, 2, fixture->a, 5, 1);
	assert_int_equal(value(&fixture->a[1]), 2);
	gauges_end_instance(fixture->gauges, 1, 2);
	assert_int_equal(value(&fixture->a[1]), 1);
	gauges_reset(fixture->gauges);
	assert_int_equal(value(&fixture->a[1]), 0);
}

/*
 * The place of a value is hash_u64(instance) * MULTIPLIER ^ address of the sample (tables.c). All
 * its steps can be undone, so the second instance is calculated from the first one.
 */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd; /* each turn doubles the number of right bits, from three on */

	for (int i = 0; i < 5; i++) {
		x *= 2 - odd * x;
	}
	return x;
}

static uint64_t same_place(uint64_t instance, const cell *from, const cell *to)
{
	static const uint64_t multiplier = UINT64_C(0xd6e8feb86659fd93);
	uint64_t hash = (hash_u64(instance) * multiplier ^ (uintptr_t)from ^ (uintptr_t)to) *
			inverse(multiplier);
	uint64_t key = hash ^ hash >> 29 ^ hash >> 58;

	key *= inverse(UINT64_C(0x9e3779b97f4a7c15));
	return key ^ key >> 32;
}

static void of_two_values_with_one_hash_the_older_one_goes(void **state)
{
	struct fixture *fixture = *state;
	uint64_t other = same_place(1, fixture->a, fixture->b);

	assert_int_not_equal(other, 1);
	gauges_set(fixture->gauges, 1, fixture->a, 10, 1);
	gauges_set(fixture->gauges, other, fixture->b, 3, 1);
	assert_int_equal(value(fixture->a), 0);
	assert_int_equal(value(fixture->b), 3);
	assert_int_equal(gauges_count(fixture->gauges), 1);
	gauges_set(fixture->gauges, 1, fixture->a, 12, 2);
	assert_int_equal(value(fixture->a), 12);
	assert_int_equal(value(fixture->b), 0);
	gauges_end_instance(fixture->gauges, other, 2);
	gauges_end_instance(fixture->gauges, 1, 2);
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
		cmocka_unit_test_setup_teardown(an_exit_leaves_what_was_set_after_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_older_value_does_not_replace_a_newer_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_samples_of_a_family_leave_the_middle_of_a_list,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_sample_is_held_once_for_each_value, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(of_two_values_with_one_hash_the_older_one_goes,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_table_is_bounded_and_the_oldest_goes, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
