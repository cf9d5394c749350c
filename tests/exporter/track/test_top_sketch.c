/* SPDX-License-Identifier: MIT */
/*
 * The sketch against exact counts: what its authors prove of it must hold for any stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/track/top_paths.h"

enum { KEYS = 5000, EVENTS = 200000 };

static uint64_t random_state;

static uint32_t random_below(uint32_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state % end);
}

/* ---- streams: the key of the n-th event ---- */

/* Half of the events have key 0, a quarter key 1, and so on. */
static uint32_t skewed(uint32_t n)
{
	uint32_t key = 0;

	(void)n;
	while (key < 40 && random_below(2) == 0) {
		key++;
	}
	return key;
}

/* The k-th key with a weight of 1 / k, about. */
static uint32_t long_tailed(uint32_t n)
{
	(void)n;
	return random_below(1 + random_below(1 + random_below(KEYS)));
}

static uint32_t even(uint32_t n)
{
	(void)n;
	return random_below(KEYS);
}

/* Keys that each come once, between those of a few: how a flood of new files looks. */
static uint32_t flooded(uint32_t n)
{
	return n % 10 == 0 ? random_below(5) : 5 + n % (KEYS - 5);
}

/* The heavy ones come at the end. */
static uint32_t late(uint32_t n)
{
	return n < EVENTS * 3 / 4 ? random_below(KEYS) : random_below(3);
}

static uint64_t exact[KEYS];

static const struct top_counter *find(const struct top_sketch *sketch, uint64_t key)
{
	for (uint32_t i = 0; i < sketch->count; i++) {
		if (sketch->counters[i].key == key) {
			return &sketch->counters[i];
		}
	}
	return NULL;
}

static void check(const struct top_sketch *sketch, uint64_t total)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sketch->count; i++) {
		const struct top_counter *counter = &sketch->counters[i];

		assert_in_range(counter->key, 0, KEYS - 1);
		assert_true(counter->count >= exact[counter->key]);
		assert_true(top_counter_least(counter) <= exact[counter->key]);
		assert_true(counter->error <= total / sketch->size);
		sum += counter->count;
	}
	/* Nothing is lost: what a key takes over stays counted. */
	assert_int_equal(sum, total);
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct top_counter *counter = find(sketch, key);

		if (exact[key] > total / sketch->size) {
			assert_non_null(counter);
		}
	}
}

static void counts_are_within_what_the_sketch_promises(void **state)
{
	static const struct {
		const char *name;
		uint32_t (*key)(uint32_t n);
	} streams[] = {
		{ "skewed", skewed },   { "long tail", long_tailed },    { "even", even },
		{ "flooded", flooded }, { "the heavy ones last", late },
	};
	static const uint32_t sizes[] = { 1, 2, 10, 100, 1000, 2 * KEYS };

	(void)state;
	for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
		for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
			struct top_sketch sketch;
			struct etw_error err;
			uint64_t total = 0;

			print_message("  %s, %u counters\n", streams[i].name, (unsigned)sizes[j]);
			random_state = 88172645463325252U;
			memset(exact, 0, sizeof exact);
			assert_true(top_sketch_init(&sketch, sizes[j], &err));
			for (uint32_t n = 0; n < EVENTS; n++) {
				uint32_t key = streams[i].key(n);
				uint32_t weight = 1 + random_below(4096);

				top_sketch_add(&sketch, key, weight);
				exact[key] += weight;
				total += weight;
			}
			check(&sketch, total);
			top_sketch_done(&sketch);
		}
	}
}

static void with_a_counter_for_each_key_it_is_exact(void **state)
{
	struct top_sketch sketch;
	struct etw_error err;

	(void)state;
	assert_true(top_sketch_init(&sketch, 3, &err));
	for (unsigned i = 0; i < 10; i++) {
		top_sketch_add(&sketch, 7, 1);
		top_sketch_add(&sketch, 8, 2);
		top_sketch_add(&sketch, UINT64_MAX, 0);
	}
	assert_int_equal(sketch.count, 3);
	assert_int_equal(find(&sketch, 7)->count, 10);
	assert_int_equal(find(&sketch, 8)->count, 20);
	assert_int_equal(find(&sketch, UINT64_MAX)->count, 0);
	assert_int_equal(find(&sketch, 8)->error, 0);
	top_sketch_add(&sketch, 9, 5); /* in the place of the lightest, which weighs nothing */
	assert_null(find(&sketch, UINT64_MAX));
	assert_int_equal(top_counter_least(find(&sketch, 9)), 5);
	top_sketch_clear(&sketch);
	assert_int_equal(sketch.count, 0);
	top_sketch_add(&sketch, 7, 3);
	assert_int_equal(find(&sketch, 7)->count, 3);
	top_sketch_done(&sketch);
}

static void a_count_stays_at_the_largest_number(void **state)
{
	struct top_sketch sketch;
	struct etw_error err;

	(void)state;
	assert_true(top_sketch_init(&sketch, 1, &err));
	top_sketch_add(&sketch, 1, UINT64_MAX - 1);
	top_sketch_add(&sketch, 1, 5);
	assert_true(sketch.counters[0].count == UINT64_MAX);
	top_sketch_add(&sketch, 2, 5);
	assert_int_equal(top_counter_least(&sketch.counters[0]), 0);
	top_sketch_done(&sketch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_within_what_the_sketch_promises),
		cmocka_unit_test(with_a_counter_for_each_key_it_is_exact),
		cmocka_unit_test(a_count_stays_at_the_largest_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
