/* SPDX-License-Identifier: MIT */
/*
 * Items are sorted, and no order of them costs more than another.
 */
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/chance.h"

enum { SIZE_MOST = 100, COUNT_MOST = 300 };

/* By the first byte; the rest of an item is that byte, too. */
static int compare_bytes(const void *a, const void *b)
{
	uint8_t x = *(const uint8_t *)a, y = *(const uint8_t *)b;

	return (x > y) - (x < y);
}

static uint64_t compared;

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	compared++;
	return (x > y) - (x < y);
}

static void what_is_nearly_in_order_costs_little(void **state)
{
	enum { COUNT = 100000 };
	uint32_t *items = calloc(COUNT, sizeof *items);

	(void)state;
	assert_non_null(items);
	for (uint32_t i = 0; i < COUNT; i++) {
		items[i] = i ^ 7; /* groups of eight, each backwards */
	}
	compared = 0;
	sort_items(items, COUNT, sizeof *items, compare_numbers);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(items[i], i);
	}
	assert_true(compared < 5 * COUNT);
	free(items);
}

static void items_of_every_size_are_sorted(void **state)
{
	static uint8_t items[COUNT_MOST * SIZE_MOST];

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		size_t size = 1 + (size_t)chance(SIZE_MOST), count = (size_t)chance(COUNT_MOST);
		size_t before[256] = { 0 };
		uint8_t last = 0;

		for (size_t i = 0; i < count; i++) {
			uint8_t key = (uint8_t)chance(1 + round % 256);

			memset(items + i * size, key, size);
			before[key]++;
		}
		sort_items(items, count, size, compare_bytes);
		for (size_t i = 0; i < count; i++) {
			uint8_t key = items[i * size];

			assert_true(key >= last);
			last = key;
			before[key]--;
			for (size_t at = 1; at < size; at++) {
				assert_int_equal(items[i * size + at], key);
			}
		}
		for (size_t key = 0; key < 256; key++) {
			assert_int_equal(before[key], 0);
		}
	}
}

/*
 * An adversary that decides while it is asked, so that each comparison says as little as possible:
 * M. D. McIlroy, "A Killer Adversary for Quicksort", Software: Practice and Experience 29 (1999).
 */
static struct {
	uint32_t *values; /* of the items, which are numbers of them; count: not decided */
	uint32_t count, decided, candidate;
} adversary;

static int compare_as_adversary(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t *values = adversary.values;

	compared++;
	if (values[x] == adversary.count && values[y] == adversary.count) {
		values[x == adversary.candidate ? x : y] = adversary.decided++;
	}
	if (values[x] == adversary.count) {
		adversary.candidate = x;
	} else if (values[y] == adversary.count) {
		adversary.candidate = y;
	}
	return (values[x] > values[y]) - (values[x] < values[y]);
}

/* For a part that is not nearly in order, some first items go backwards. */
static void no_order_costs_more_than_another(void **state)
{
	enum { COUNT = 1 << 16, LOG = 16, BACKWARDS = COUNT / 8 };
	uint32_t *items = calloc(COUNT, sizeof *items);

	(void)state;
	adversary.values = calloc(COUNT, sizeof *adversary.values);
	adversary.count = COUNT;
	adversary.decided = BACKWARDS;
	assert_non_null(items);
	assert_non_null(adversary.values);
	for (uint32_t i = 0; i < COUNT; i++) {
		items[i] = i;
		adversary.values[i] = i < BACKWARDS ? BACKWARDS - 1 - i : COUNT;
	}
	compared = 0;
	sort_items(items, COUNT, sizeof *items, compare_as_adversary);
	assert_in_range(compared, UINT64_C(1) * COUNT * LOG, UINT64_C(4) * COUNT * LOG);
	free(adversary.values);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_of_every_size_are_sorted),
		cmocka_unit_test(what_is_nearly_in_order_costs_little),
		cmocka_unit_test(no_order_costs_more_than_another),
	};

	return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
