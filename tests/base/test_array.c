/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow: items stay, few moves, sizes that no memory has.
 */
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void items_stay_as_the_array_grows(void **state)
{
	uint32_t *items = NULL;
	size_t capacity = 0, moves = 0;

	(void)state;
	for (uint32_t count = 0; count < 1000; count++) {
		size_t capacity_before = capacity;
		uint32_t *grown = array_grow(items, &capacity, count, sizeof *items);

		assert_non_null(grown);
		assert_true(capacity > count);
		moves += capacity != capacity_before;
		items = grown;
		items[count] = count;
	}
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(items[i], i);
	}
	assert_true(moves < 10);
	free(items);
}

static void an_array_with_room_stays_where_it_is(void **state)
{
	size_t capacity = 0;
	uint64_t *items = array_grow(NULL, &capacity, 0, sizeof *items);

	(void)state;
	assert_non_null(items);
	assert_ptr_equal(array_grow(items, &capacity, capacity - 1, sizeof *items), items);
	free(items);
}

static void a_size_beyond_all_memory_is_refused(void **state)
{
	size_t capacity = 0;

	(void)state;
	assert_null(array_grow(NULL, &capacity, SIZE_MAX / 2, 8));
	assert_null(array_grow(NULL, &capacity, SIZE_MAX - 1, 1));
	assert_null(array_grow(NULL, &capacity, 0, SIZE_MAX / 4));
	assert_int_equal(capacity, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_stay_as_the_array_grows),
		cmocka_unit_test(an_array_with_room_stays_where_it_is),
		cmocka_unit_test(a_size_beyond_all_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
