/* SPDX-License-Identifier: MIT */
/*
 * The table of 64-bit keys, against the simplest table there is.
 */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void an_empty_map_has_nothing(void **state)
{
	struct map map = { 0 };
	size_t at = 0;

	(void)state;
	assert_null(map_find(&map, 0));
	assert_null(map_find(&map, 1));
	assert_false(map_remove(&map, 0));
	assert_false(map_remove(&map, 1));
	assert_null(map_next(&map, &at));
	map_done(&map);
}

static void every_key_is_allowed(void **state)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63, UINT32_MAX };
	enum { KEYS = sizeof keys / sizeof keys[0] };
	struct map map = { 0 };

	(void)state;
	for (size_t i = 0; i < KEYS; i++) {
		bool added = false;
		uint64_t *value = map_put(&map, keys[i], &added);

		assert_true(added);
		assert_true(*value == 0);
		*value = ~keys[i];
	}
	assert_int_equal(map.count, KEYS);
	for (size_t i = 0; i < KEYS; i++) {
		bool added = true;

		assert_true(*map_find(&map, keys[i]) == ~keys[i]);
		assert_true(*map_put(&map, keys[i], &added) == ~keys[i]);
		assert_false(added);
	}
	for (size_t i = 0; i < KEYS; i++) {
		assert_true(map_remove(&map, keys[i]));
		assert_false(map_remove(&map, keys[i]));
		assert_null(map_find(&map, keys[i]));
	}
	assert_int_equal(map.count, 0);
	assert_true(*map_put(&map, 0, NULL) == 0); /* not what it was before */
	map_done(&map);
}

static void a_walk_meets_each_entry_once(void **state)
{
	enum { KEYS = 1000 };
	struct map map = { 0 };
	bool met[KEYS] = { false };
	struct map_slot *slot;
	size_t at = 0, count = 0;

	(void)state;
	for (uint64_t key = 0; key < KEYS; key++) {
		*map_put(&map, key, NULL) = 2 * key;
	}
	while ((slot = map_next(&map, &at))) {
		assert_true(slot->key < KEYS);
		assert_true(slot->value == 2 * slot->key);
		assert_false(met[slot->key]);
		met[slot->key] = true;
		count++;
	}
	assert_int_equal(count, KEYS);
	assert_null(map_next(&map, &at)); /* the end stays the end */
	map_done(&map);
}

static void a_map_is_usable_after_done(void **state)
{
	struct map map = { 0 };

	(void)state;
	*map_put(&map, 7, NULL) = 1;
	map_done(&map);
	assert_null(map_find(&map, 7));
	*map_put(&map, 7, NULL) = 2;
	assert_true(*map_find(&map, 7) == 2);
	map_done(&map);
	map_done(&map);
}

/* xorshift64*: the same numbers in every run. */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return *random * UINT64_C(0x2545f4914f6cdd1d);
}

/*
 * Random puts and removes, mirrored in an array. The keys are few, so that each comes and goes many
 * times; they are shaped as the keys of the program are: small, far apart, addresses, two halves.
 */
static void the_map_agrees_with_an_array(void **state)
{
	enum { KEYS = 200, STEPS = 100000 };
	static const struct {
		const char *name;
		uint64_t factor;
	} shapes[] = {
		{ "thread ids", 4 },
		{ "addresses", 0x1000 },
		{ "high halves", UINT64_C(1) << 32 },
		{ "top bits", UINT64_C(1) << 56 },
		{ "scattered", UINT64_C(0x5851f42d4c957f2d) },
	};

	(void)state;
	for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
		struct map map = { 0 };
		bool there[KEYS] = { false };
		uint64_t values[KEYS];
		uint64_t random = 1;
		size_t count = 0;

		print_message("  %s\n", shapes[shape].name);
		for (unsigned step = 0; step < STEPS; step++) {
			size_t i = next_random(&random) % KEYS;
			uint64_t key = i * shapes[shape].factor;

			if (next_random(&random) % 2) {
				bool added;
				uint64_t *value = map_put(&map, key, &added);

				assert_true(added == !there[i]);
				assert_true(*value == (there[i] ? values[i] : 0));
				*value = values[i] = step;
				count += added;
				there[i] = true;
			} else {
				assert_true(map_remove(&map, key) == there[i]);
				count -= there[i];
				there[i] = false;
			}
			assert_true(map.count == count);
			for (size_t k = step % 16; k < KEYS; k += 16) {
				uint64_t *value = map_find(&map, k * shapes[shape].factor);

				assert_true(!value == !there[k]);
				assert_true(!value || *value == values[k]);
			}
		}
		map_done(&map);
	}
}

/* What linear probing fears: keys whose homes lie in a row. */
static void keys_of_the_program_stay_near_their_homes(void **state)
{
	static const struct {
		const char *name;
		uint64_t factor;
	} shapes[] = {
		{ "one by one", 1 },
		{ "thread ids", 4 },
		{ "pages", 0x1000 },
		{ "64 KiB", 0x10000 },
		{ "high halves", UINT64_C(1) << 32 },
		{ "kernel addresses", 0x140 },
	};

	(void)state;
	for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
		struct map map = { 0 };
		size_t distance = 0;

		for (uint64_t i = 1; i <= 10000; i++) {
			assert_non_null(map_put(&map, i * shapes[shape].factor, NULL));
		}
		for (size_t i = 0; i <= map.mask; i++) {
			if (map.slots[i].key != 0) {
				distance += (i - (size_t)hash_seeded(map.slots[i].key, map.seed)) &
					    map.mask;
			}
		}
		print_message("  %s: %zu probes too many for 10000\n", shapes[shape].name,
			      distance);
		assert_in_range(distance, 0, 10000);
		map_done(&map);
	}
}

/* The key whose hash_u64() is this, as an attacker computes it to make keys collide. */
static uint64_t key_of_hash(uint64_t hash)
{
	hash ^= hash >> 29 ^ hash >> 58;
	hash *= UINT64_C(0xf1de83e19937733d);
	return hash ^ hash >> 32;
}

static void keys_made_to_collide_do_not(void **state)
{
	struct map map = { 0 };
	size_t distance = 0;

	(void)state;
	for (uint64_t i = 1; i <= 10000; i++) {
		uint64_t key = key_of_hash(i << 32);

		assert_int_equal(hash_u64(key), i << 32);
		assert_non_null(map_put(&map, key, NULL));
	}
	for (size_t i = 0; i <= map.mask; i++) {
		if (map.slots[i].key != 0) {
			distance += (i - (size_t)hash_seeded(map.slots[i].key, map.seed)) &
				    map.mask;
		}
	}
	/* In a table without a seed they would all have one home: 50 million probes. */
	assert_in_range(distance, 0, 20000);
	map_done(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(every_key_is_allowed),
		cmocka_unit_test(a_walk_meets_each_entry_once),
		cmocka_unit_test(a_map_is_usable_after_done),
		cmocka_unit_test(the_map_agrees_with_an_array),
		cmocka_unit_test(keys_of_the_program_stay_near_their_homes),
		cmocka_unit_test(keys_made_to_collide_do_not),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
