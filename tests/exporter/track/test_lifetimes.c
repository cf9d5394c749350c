/* SPDX-License-Identifier: MIT */
/*
 * Lifetimes: the sentences of docs/etl-format.md section 16.2, one row each, and what must hold for
 * any sequence of changes.
 */
#include "exporter/track/lifetimes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum { PLENTY = 1000, KEY = 7 };

struct change {
	int64_t time;
	char what; /* '+' start, '=' rundown, '-' stop; 0 ends a list */
	uint32_t value;
};

struct look {
	int64_t time;
	uint32_t value; /* found; 0: nothing, and as a time of 0 the end of a list */
};

static bool announce(struct lifetimes *table, uint64_t key, const struct change *change)
{
	enum lifetime_change what = change->what == '+' ? LIFETIME_START :
				    change->what == '=' ? LIFETIME_EXISTS :
							  LIFETIME_STOP;

	return lifetimes_announce(table, what, key, change->time, change->value);
}

static uint32_t value_at(struct lifetimes *table, uint64_t key, int64_t time)
{
	const struct lifetime *instance = lifetimes_at(table, key, time);

	return instance ? instance->value : 0;
}

struct lifetimes_case {
	const char *name;
	struct change changes[8]; /* in the order in which they come */
	struct look looks[8];
};

static void check_cases(const struct lifetimes_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct lifetimes table;

		lifetimes_init(&table, PLENTY, true);
		print_message("  %s\n", cases[i].name);
		for (const struct change *change = cases[i].changes; change->what; change++) {
			assert_true(announce(&table, KEY, change));
		}
		for (const struct look *look = cases[i].looks; look->time; look++) {
			assert_int_equal(value_at(&table, KEY, look->time), look->value);
		}
		assert_null(lifetimes_at(&table, KEY + 1, 10));
		lifetimes_clear(&table);
	}
}

static void an_id_means_what_section_16_2_says(void **state)
{
	static const struct lifetimes_case cases[] = {
		{ "never named", { { 0, 0, 0 } }, { { 5, 0 } } },
		{ "started: before, at and after the start",
		  { { 10, '+', 1 } },
		  { { 5, 1 }, { 10, 1 }, { 99, 1 } } },
		{ "shortly after a stop it is still the stopped one",
		  { { 10, '+', 1 }, { 20, '-', 0 } },
		  { { 20, 1 }, { 21, 1 }, { 99, 1 } } },
		{ "an id used again",
		  { { 10, '+', 1 }, { 20, '-', 0 }, { 30, '+', 2 } },
		  { { 5, 1 }, { 20, 1 }, { 29, 1 }, { 30, 2 }, { 31, 2 } } },
		{ "used again although the stop was lost",
		  { { 10, '+', 1 }, { 30, '+', 2 }, { 40, '-', 0 } },
		  { { 29, 1 }, { 30, 2 }, { 50, 2 } } },
		{ "rundown at the end names what came before",
		  { { 90, '=', 3 } },
		  { { 1, 3 }, { 95, 3 } } },
		{ "rundown of an open one leaves it",
		  { { 10, '+', 1 }, { 50, '=', 9 } },
		  { { 10, 1 }, { 50, 1 }, { 60, 1 } } },
		{ "rundown fills a name that is missing",
		  { { 10, '+', 0 }, { 50, '=', 9 } },
		  { { 10, 9 }, { 60, 9 } } },
		{ "rundown after a stop: an instance since the end of the one before",
		  { { 10, '+', 1 }, { 20, '-', 0 }, { 50, '=', 2 } },
		  { { 19, 1 }, { 20, 2 }, { 60, 2 } } },
		{ "stop without a start: there before the trace",
		  { { 20, '-', 4 }, { 30, '+', 5 } },
		  { { 1, 4 }, { 20, 4 }, { 29, 4 }, { 30, 5 } } },
		{ "a second stop: an instance since the end of the one before",
		  { { 10, '+', 1 }, { 20, '-', 0 }, { 30, '-', 2 } },
		  { { 19, 1 }, { 20, 2 }, { 40, 2 } } },
		{ "the stop names an instance without a name",
		  { { 10, '+', 0 }, { 20, '-', 6 } },
		  { { 10, 6 }, { 30, 6 } } },
		{ "the stop does not rename",
		  { { 10, '+', 1 }, { 20, '-', 6 } },
		  { { 10, 1 }, { 30, 1 } } },
		{ "all in one tick: the last is meant",
		  { { 10, '+', 1 }, { 10, '-', 0 }, { 10, '+', 2 }, { 10, '+', 3 } },
		  { { 9, 1 }, { 10, 3 }, { 11, 3 } } },
		{ "a record without a time comes before everything",
		  { { INT64_MIN, '+', 1 }, { 10, '+', 2 } },
		  { { INT64_MIN, 1 }, { 9, 1 }, { 10, 2 } } },
	};

	(void)state;
	check_cases(cases, sizeof cases / sizeof cases[0]);
}

static void a_late_change_takes_its_place(void **state)
{
	static const struct lifetimes_case cases[] = {
		{ "a stop of the instance before",
		  { { 10, '+', 1 }, { 30, '+', 2 }, { 20, '-', 0 } },
		  { { 19, 1 }, { 29, 1 }, { 30, 2 }, { 99, 2 } } },
		{ "a start after its stop, which named the instance",
		  { { 20, '-', 1 }, { 10, '+', 1 }, { 30, '+', 2 } },
		  { { 10, 1 }, { 29, 1 }, { 30, 2 } } },
		{ "a start after its stop, which did not",
		  { { 20, '-', 0 }, { 10, '+', 1 } },
		  { { 10, 1 }, { 20, 1 } } },
		{ "a start after the next one of its id",
		  { { 10, '+', 1 }, { 30, '+', 3 }, { 20, '+', 2 } },
		  { { 19, 1 }, { 20, 2 }, { 29, 2 }, { 30, 3 }, { 99, 3 } } },
		{ "start and stop after the next start of the id",
		  { { 30, '+', 3 }, { 20, '-', 2 }, { 10, '+', 2 } },
		  { { 10, 2 }, { 20, 2 }, { 29, 2 }, { 30, 3 } } },
		{ "a start after the stop that ended the one before for it",
		  { { 10, '+', 1 }, { 30, '-', 0 }, { 20, '+', 2 } },
		  { { 19, 1 }, { 20, 2 }, { 30, 2 } } },
		{ "stop and start after the stop of the second",
		  { { 10, '+', 1 }, { 40, '-', 0 }, { 20, '-', 0 }, { 30, '+', 2 } },
		  { { 19, 1 }, { 29, 1 }, { 30, 2 }, { 50, 2 } } },
		{ "a rundown record after the stop",
		  { { 20, '-', 0 }, { 10, '=', 1 } },
		  { { 10, 1 }, { 99, 1 } } },
		{ "a rundown record after the next start of the id",
		  { { 20, '+', 2 }, { 10, '=', 1 } },
		  { { 5, 1 }, { 10, 1 }, { 19, 1 }, { 20, 2 } } },
		{ "a rundown record that does not rename",
		  { { 10, '+', 1 }, { 20, '-', 0 }, { 15, '=', 9 } },
		  { { 15, 1 }, { 99, 1 } } },
	};

	(void)state;
	check_cases(cases, sizeof cases / sizeof cases[0]);
}

static void a_late_start_does_not_bring_a_stopped_one_back(void **state)
{
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, PLENTY, true);
	assert_false(lifetimes_running(&table, KEY));
	announce(&table, KEY, &(struct change){ 20, '-', 1 });
	announce(&table, KEY, &(struct change){ 10, '+', 1 });
	assert_false(lifetimes_running(&table, KEY));
	assert_int_equal(table.count, 1);
	assert_int_equal(lifetimes_at(&table, KEY, 10)->start, 10);
	assert_int_equal(lifetimes_ended_at(&table, KEY, 20)->value, 1);
	announce(&table, KEY, &(struct change){ 30, '+', 2 });
	assert_true(lifetimes_running(&table, KEY));
	announce(&table, KEY, &(struct change){ 25, '=', 1 });
	assert_true(lifetimes_running(&table, KEY));
	lifetimes_clear(&table);
}

static void a_late_change_does_not_touch_a_newer_instance(void **state)
{
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, PLENTY, true);
	announce(&table, KEY, &(struct change){ 10, '+', 1 });
	announce(&table, KEY, &(struct change){ 30, '+', 2 });
	announce(&table, KEY, &(struct change){ 20, '-', 0 });
	assert_int_equal(lifetimes_at(&table, KEY, 40)->end, LIFETIME_OPEN);
	announce(&table, KEY, &(struct change){ 25, '+', 3 });
	assert_int_equal(value_at(&table, KEY, 40), 2);
	lifetimes_clear(&table);
}

/* Every time in the span gives the same instance, and the times around it give others. */
static void an_instance_comes_with_the_times_at_which_it_is_meant(void **state)
{
	enum { LAST = 60 };
	static const struct change changes[] = { { 10, '+', 1 }, { 20, '-', 0 }, { 30, '+', 2 },
						 { 30, '+', 3 }, { 50, '+', 4 } };
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, PLENTY, true);
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		announce(&table, KEY, &changes[i]);
		for (int64_t time = 0; time <= LAST; time++) {
			int64_t from = 7, to = 7;
			const struct lifetime *instance =
				lifetimes_during(&table, KEY, time, &from, &to);

			assert_ptr_equal(instance, lifetimes_at(&table, KEY, time));
			assert_true(from <= time && time <= to);
			for (int64_t other = 0; other <= LAST; other++) {
				assert_true((lifetimes_at(&table, KEY, other) == instance) ==
					    (from <= other && other <= to));
			}
		}
	}
	lifetimes_clear(&table);
}

static void the_instance_that_ended_at_a_time_is_found(void **state)
{
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, PLENTY, true);
	assert_null(lifetimes_ended_at(&table, KEY, 10));
	announce(&table, KEY, &(struct change){ 10, '+', 1 });
	announce(&table, KEY, &(struct change){ 20, '-', 0 });
	announce(&table, KEY, &(struct change){ 20, '=', 2 });
	assert_null(lifetimes_ended_at(&table, KEY, 10));
	assert_null(lifetimes_ended_at(&table, KEY, 21));
	assert_int_equal(lifetimes_ended_at(&table, KEY, 20)->value, 1);
	lifetimes_clear(&table);
}

/* A small generator of our own: the same numbers everywhere. */
static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

enum { CHANGES = 300, KEYS = 5, TIMES = 120 };

static size_t random_changes(uint64_t *seed, struct change *changes, uint64_t *keys)
{
	size_t count = next_random(seed) % CHANGES;
	int64_t time = 1;

	for (size_t i = 0; i < count; i++) {
		time += next_random(seed) % 3 == 0; /* many ties */
		changes[i] = (struct change){ time, "+=-"[next_random(seed) % 3],
					      next_random(seed) % 4 };
		keys[i] = next_random(seed) % KEYS;
	}
	return count;
}

static void look_up_all(struct lifetimes *table, uint32_t *values)
{
	for (uint64_t key = 0; key < KEYS; key++) {
		for (int64_t time = 0; time < TIMES; time++) {
			values[key * TIMES + (uint64_t)time] = value_at(table, key, time);
		}
	}
}

/* The list of section 16.2 with nothing clever about it. */
struct plain {
	struct lifetime items[CHANGES];
	size_t count;
};

static void announce_plain(struct plain *plain, const struct change *change)
{
	struct lifetime *last = plain->count ? &plain->items[plain->count - 1] : NULL;
	bool open = last && last->end == LIFETIME_OPEN;

	if (change->what == '+' || !open) {
		int64_t start = change->what == '+' ? change->time :
				last                ? last->end :
						      LIFETIME_ALWAYS;

		if (open) {
			last->end = change->time;
		}
		plain->items[plain->count++] = (struct lifetime){ .start = start,
								  .end = LIFETIME_OPEN,
								  .value = change->value };
		last = &plain->items[plain->count - 1];
	} else if (last->value == 0) {
		last->value = change->value;
	}
	if (change->what == '-') {
		last->end = change->time;
	}
}

static uint32_t plain_at(const struct plain *plain, int64_t time)
{
	for (size_t i = plain->count; i > 0; i--) {
		if (plain->items[i - 1].start <= time) {
			return plain->items[i - 1].value;
		}
	}
	return plain->count ? plain->items[0].value : 0;
}

static void any_sequence_gives_the_same_as_a_plain_list_also_when_announced_twice(void **state)
{
	static struct plain plain[KEYS];
	static struct change changes[CHANGES];
	static uint64_t keys[CHANGES];
	static uint32_t once[KEYS * TIMES], twice[KEYS * TIMES];
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		struct lifetimes table;
		size_t count = random_changes(&seed, changes, keys);
		uint32_t instances;

		lifetimes_init(&table, PLENTY, true);
		for (uint64_t key = 0; key < KEYS; key++) {
			plain[key].count = 0;
		}
		for (size_t i = 0; i < count; i++) {
			assert_true(announce(&table, keys[i], &changes[i]));
			announce_plain(&plain[keys[i]], &changes[i]);
		}
		look_up_all(&table, once);
		for (uint64_t key = 0; key < KEYS; key++) {
			for (int64_t time = 0; time < TIMES; time++) {
				assert_int_equal(once[key * TIMES + (uint64_t)time],
						 plain_at(&plain[key], time));
			}
		}
		instances = table.count;
		table.frozen = true;
		for (size_t i = 0; i < count; i++) {
			assert_true(announce(&table, keys[i], &changes[i]));
			look_up_all(&table, twice);
			assert_memory_equal(once, twice, sizeof once);
		}
		assert_int_equal(table.count, instances);
		assert_int_equal(table.evictions, 0);
		lifetimes_clear(&table);
	}
}

/* Instances of one key that start, stop and start again; each change comes up to `late` places
 * later than it happened, as buffers of several processors do. */
static void late_changes_give_what_changes_in_time_give(void **state)
{
	enum { INSTANCES = 40, ROUNDS = 2000, LATE = 5 };
	static struct change changes[2 * INSTANCES];
	uint64_t seed = 7;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct lifetimes in_time, late;
		bool taken[2 * INSTANCES] = { false };
		bool named = round % 2; /* by its stop too, as processes are */

		lifetimes_init(&in_time, PLENTY, true);
		lifetimes_init(&late, PLENTY, true);
		for (uint32_t i = 0; i < INSTANCES; i++) {
			changes[2 * i] = (struct change){ 20 * i + 1, '+', i + 1 };
			changes[2 * i + 1] = (struct change){ 20 * i + 11, '-', named ? i + 1 : 0 };
		}
		for (size_t i = 0; i < 2 * INSTANCES; i++) {
			announce(&in_time, KEY, &changes[i]);
		}
		for (size_t first = 0; first < 2 * INSTANCES;) {
			size_t at = first + next_random(&seed) % LATE;

			if (at < 2 * INSTANCES && !taken[at]) {
				taken[at] = true;
				assert_true(announce(&late, KEY, &changes[at]));
			}
			while (first < 2 * INSTANCES && taken[first]) {
				first++;
			}
		}
		for (int64_t time = 0; time < 20 * INSTANCES; time++) {
			assert_int_equal(value_at(&late, KEY, time), value_at(&in_time, KEY, time));
		}
		assert_int_equal(late.count, INSTANCES);
		assert_false(lifetimes_running(&late, KEY));
		assert_true(late.end_count <= INSTANCES);
		lifetimes_clear(&in_time);
		lifetimes_clear(&late);
	}
}

static void what_late_changes_insert_is_evicted_too(void **state)
{
	struct lifetimes table;
	uint64_t seed = 11;

	(void)state;
	lifetimes_init(&table, 50, true);
	for (int64_t time = 100; time < 20000; time++) {
		struct change change = { time - next_random(&seed) % 20,
					 "+=-"[next_random(&seed) % 3], 1 };

		assert_true(announce(&table, next_random(&seed) % 10, &change));
		assert_true(table.count <= 50);
		assert_true(table.end_count <= 50);
	}
	/* Old ones have gone: what happened long ago is known of no key. */
	for (uint64_t key = 0; key < 10; key++) {
		const struct lifetime *oldest = lifetimes_at(&table, key, 0);

		assert_true(!oldest || oldest->end > 19000);
	}
	lifetimes_clear(&table);
}

/* A caller may keep what look-ups gave until the key changes or the number of drops rises. */
static void a_change_alters_other_keys_only_with_a_drop(void **state)
{
	enum { LIMIT = 12, OTHER_KEYS = 8, MOMENTS = 40 };
	uint32_t kept[OTHER_KEYS][MOMENTS] = { { 0 } };
	struct lifetimes table;
	uint64_t seed = 5, drops = 0, undropped = 0;

	(void)state;
	lifetimes_init(&table, LIMIT, true);
	for (int64_t now = 0; now < 2000; now++) {
		uint64_t key = next_random(&seed) % OTHER_KEYS;
		struct change change = { now - next_random(&seed) % 4,
					 "+=-"[next_random(&seed) % 3], next_random(&seed) % 4 };
		bool dropped;

		announce(&table, key, &change);
		dropped = table.drops != drops;
		drops = table.drops;
		undropped += !dropped;
		for (uint64_t other = 0; other < OTHER_KEYS; other++) {
			for (int64_t back = 0; back < MOMENTS; back++) {
				uint32_t value = value_at(&table, other, back * 50);

				assert_true(dropped || other == key || kept[other][back] == value);
				kept[other][back] = value;
			}
		}
	}
	assert_true(drops > 100);
	assert_true(undropped > 100);
	lifetimes_clear(&table);
	assert_true(table.drops > drops);
}

static void a_full_table_lets_the_instance_go_that_ended_longest_ago(void **state)
{
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, 3, true);
	announce(&table, 1, &(struct change){ 1, '+', 11 });
	announce(&table, 2, &(struct change){ 2, '+', 12 });
	announce(&table, 3, &(struct change){ 3, '+', 13 });
	announce(&table, 2, &(struct change){ 4, '-', 0 });
	announce(&table, 1, &(struct change){ 5, '-', 0 });
	announce(&table, 4, &(struct change){ 6, '+', 14 });
	assert_int_equal(table.count, 3);
	assert_int_equal(table.evictions, 1);
	assert_null(lifetimes_at(&table, 2, 6));
	assert_int_equal(value_at(&table, 1, 6), 11);
	announce(&table, 2, &(struct change){ 7, '+', 22 });
	assert_null(lifetimes_at(&table, 1, 7));
	assert_int_equal(value_at(&table, 2, 7), 22);
	assert_int_equal(value_at(&table, 3, 7), 13);
	assert_int_equal(table.evictions, 2);
	lifetimes_clear(&table);
}

static void what_ended_too_long_ago_to_be_meant_is_dropped_without_a_count(void **state)
{
	enum { GRACE = 10, LIMIT = 4 };
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, LIMIT, true);
	table.grace_ticks = GRACE;
	lifetimes_clear(&table); /* keeps it */
	/* A file object that is used again and again, at most twice within the grace. */
	for (int64_t time = 100; time < 1000; time += GRACE / 2) {
		assert_true(announce(&table, 1, &(struct change){ time, '+', 7 }));
		assert_true(announce(&table, 1, &(struct change){ time + 1, '-', 0 }));
		assert_true(table.count <= LIMIT);
	}
	assert_int_equal(table.evictions, 0);
	/* What ended GRACE ago may still be meant. */
	announce(&table, 2, &(struct change){ 1100, '+', 8 });
	announce(&table, 2, &(struct change){ 1200, '-', 0 });
	announce(&table, 3, &(struct change){ 1201, '+', 9 });
	announce(&table, 4, &(struct change){ 1202, '+', 9 });
	announce(&table, 5, &(struct change){ 1203, '+', 9 });
	assert_int_equal(table.evictions, 0);
	announce(&table, 6, &(struct change){ 1200 + GRACE, '+', 9 });
	assert_int_equal(table.evictions, 1);
	assert_null(lifetimes_at(&table, 2, 1210));
	/* So may what has not ended. */
	announce(&table, 7, &(struct change){ 2000, '+', 9 });
	assert_int_equal(table.evictions, 2);
	assert_int_equal(table.count, LIMIT);
	lifetimes_clear(&table);
}

static void if_no_instance_has_ended_an_unused_key_is_evicted(void **state)
{
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, 3, true);
	for (uint32_t key = 1; key <= 3; key++) {
		announce(&table, key, &(struct change){ key, '+', key });
	}
	/* All are new, so the hand passes once; from then on only what is asked for counts. */
	announce(&table, 4, &(struct change){ 4, '+', 4 });
	assert_null(lifetimes_at(&table, 1, 4));
	assert_non_null(lifetimes_at(&table, 2, 4));
	announce(&table, 5, &(struct change){ 5, '+', 5 });
	assert_non_null(lifetimes_at(&table, 2, 5));
	assert_null(lifetimes_at(&table, 3, 5));
	assert_int_equal(table.count, 3);
	lifetimes_clear(&table);
}

static void a_full_table_refuses_in_the_first_pass_and_makes_room_in_the_second(void **state)
{
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, 2, false);
	assert_true(announce(&table, 1, &(struct change){ 10, '+', 11 }));
	assert_true(announce(&table, 2, &(struct change){ 20, '+', 12 }));
	assert_false(announce(&table, 3, &(struct change){ 30, '+', 13 }));
	assert_true(announce(&table, 1, &(struct change){ 40, '-', 0 }));
	assert_int_equal(table.evictions, 1);
	table.frozen = true;
	assert_true(announce(&table, 1, &(struct change){ 10, '+', 11 }));
	assert_true(announce(&table, 2, &(struct change){ 20, '+', 12 }));
	/* What ends later is known already and still needed: the new one is refused. */
	assert_false(announce(&table, 3, &(struct change){ 30, '+', 13 }));
	assert_int_equal(value_at(&table, 1, 35), 11);
	assert_true(announce(&table, 1, &(struct change){ 40, '-', 0 }));
	assert_true(announce(&table, 3, &(struct change){ 50, '+', 13 }));
	assert_null(lifetimes_at(&table, 1, 50));
	assert_int_equal(value_at(&table, 3, 50), 13);
	lifetimes_clear(&table);
}

static void memory_stays_within_the_limit_for_any_input(void **state)
{
	static const uint32_t limits[] = { 1, 2, 17, 64 };
	uint64_t seed = 99;

	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		struct lifetimes table;

		lifetimes_init(&table, limits[i], true);
		for (int64_t time = 0; time < 20000; time++) {
			struct change change = { time, "+=-"[next_random(&seed) % 3], 1 };
			uint64_t key = next_random(&seed) % 100;

			assert_true(announce(&table, key, &change));
			lifetimes_at(&table, next_random(&seed) % 100,
				     time - next_random(&seed) % 50);
			assert_true(table.count <= limits[i]);
			assert_true(table.end_count <= limits[i]);
		}
		lifetimes_clear(&table);
		assert_int_equal(table.count, 0);
		assert_true(announce(&table, 1, &(struct change){ 1, '+', 5 }));
		assert_int_equal(value_at(&table, 1, 1), 5);
		lifetimes_clear(&table);
	}
}

/* A file object that was opened often for a while, then the next one, as in a session of weeks. */
static void keys_that_were_used_often_do_not_keep_the_memory_of_that(void **state)
{
#if defined(__GLIBC__)
	enum { MANY = 200, INSTANCES = 1000, BYTES_MOST = 256 * 1024 };
	struct lifetimes table;
	size_t before = mallinfo2().uordblks;

	(void)state;
	lifetimes_init(&table, INSTANCES, true);
	for (int64_t time = 0; time < MANY * INSTANCES; time++) {
		announce(&table, (uint64_t)time / INSTANCES, &(struct change){ time, '+', 1 });
	}
	assert_in_range(mallinfo2().uordblks - before, 0, BYTES_MOST);
	assert_int_equal(table.count, INSTANCES);
	lifetimes_clear(&table);
#else
	(void)state;
	skip();
#endif
}

static void a_key_used_very_often_stays_fast(void **state)
{
	enum { OFTEN = 200000 };
	struct lifetimes table;

	(void)state;
	lifetimes_init(&table, OFTEN / 2, true);
	for (int64_t time = 0; time < OFTEN; time++) {
		announce(&table, KEY, &(struct change){ time, '+', (uint32_t)time + 1 });
		assert_int_equal(value_at(&table, KEY, time), time + 1);
		assert_int_equal(value_at(&table, KEY, 0),
				 time < OFTEN / 2 ? 1 : time + 2 - OFTEN / 2);
	}
	lifetimes_clear(&table);
}

static void a_timeline_announced_in_file_order_reads_in_time_order(void **state)
{
	struct timeline timeline;

	(void)state;
	timeline_init(&timeline, PLENTY);
	timeline_begin_first_pass(&timeline);
	assert_true(timeline_announce(&timeline, LIFETIME_START, KEY, 30, 2));
	assert_true(timeline_announce(&timeline, LIFETIME_STOP, KEY, 20, 0));
	assert_true(timeline_announce(&timeline, LIFETIME_START, KEY, 10, 1));
	assert_true(timeline_announce(&timeline, LIFETIME_START, KEY, 30, 3));
	assert_null(lifetimes_at(&timeline.table, KEY, 15));
	timeline_sort(&timeline);
	timeline_build(&timeline);
	assert_true(timeline.complete);
	assert_int_equal(value_at(&timeline.table, KEY, 15), 1);
	assert_int_equal(value_at(&timeline.table, KEY, 29), 1);
	assert_int_equal(value_at(&timeline.table, KEY, 30), 3);
	timeline_clear(&timeline);
	assert_false(timeline.complete);
	assert_null(lifetimes_at(&timeline.table, KEY, 15));
	timeline_clear(&timeline);
}

/* Changes come in any order, or as those of buffers do: in runs that overlap in time. */
static void changes_are_sorted_by_time_and_those_of_one_time_stay_in_file_order(void **state)
{
	uint64_t seed = 9;

	(void)state;
	for (size_t count = 0; count < 200; count++) {
		unsigned run = next_random(&seed) % 20; /* 0: no runs */
		uint32_t span = 1 + next_random(&seed) % 100;
		struct timeline timeline;

		timeline_init(&timeline, PLENTY);
		timeline_begin_first_pass(&timeline);
		for (size_t i = 0; i < count; i++) {
			int64_t time = run == 0 ? next_random(&seed) % span :
						  (int64_t)(i / run % 4 * 5 + i % run * 3 + i / 50);

			timeline_announce(&timeline, LIFETIME_START, KEY, time, 1);
		}
		timeline_sort(&timeline);
		assert_int_equal(timeline.count, count);
		for (size_t i = 1; i < count; i++) {
			const struct timeline_change *change = &timeline.changes[i];

			assert_true(change[-1].time < change->time ||
				    (change[-1].time == change->time &&
				     change[-1].order < change->order));
		}
		timeline_clear(&timeline);
	}
}

static void a_timeline_that_refused_a_change_is_announced_again(void **state)
{
	enum { LIMIT = 4 };
	struct timeline timeline;

	(void)state;
	timeline_init(&timeline, LIMIT);
	timeline_begin_first_pass(&timeline);
	for (uint32_t i = 0; i < 100; i++) {
		timeline_announce(&timeline, LIFETIME_START, i, i, i + 1);
	}
	timeline_sort(&timeline);
	timeline_build(&timeline);
	assert_false(timeline.complete);
	assert_int_equal(timeline.table.evictions, 100 - LIMIT);
	for (uint32_t i = 0; i < 100; i++) {
		timeline_announce(&timeline, LIFETIME_START, i, i, i + 1);
		assert_int_equal(value_at(&timeline.table, i, i), i + 1);
	}
	timeline_clear(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_means_what_section_16_2_says),
		cmocka_unit_test(a_late_change_takes_its_place),
		cmocka_unit_test(a_late_start_does_not_bring_a_stopped_one_back),
		cmocka_unit_test(late_changes_give_what_changes_in_time_give),
		cmocka_unit_test(what_late_changes_insert_is_evicted_too),
		cmocka_unit_test(a_late_change_does_not_touch_a_newer_instance),
		cmocka_unit_test(an_instance_comes_with_the_times_at_which_it_is_meant),
		cmocka_unit_test(the_instance_that_ended_at_a_time_is_found),
		cmocka_unit_test(
			any_sequence_gives_the_same_as_a_plain_list_also_when_announced_twice),
		cmocka_unit_test(a_change_alters_other_keys_only_with_a_drop),
		cmocka_unit_test(a_full_table_lets_the_instance_go_that_ended_longest_ago),
		cmocka_unit_test(what_ended_too_long_ago_to_be_meant_is_dropped_without_a_count),
		cmocka_unit_test(if_no_instance_has_ended_an_unused_key_is_evicted),
		cmocka_unit_test(
			a_full_table_refuses_in_the_first_pass_and_makes_room_in_the_second),
		cmocka_unit_test(memory_stays_within_the_limit_for_any_input),
		cmocka_unit_test(keys_that_were_used_often_do_not_keep_the_memory_of_that),
		cmocka_unit_test(a_key_used_very_often_stays_fast),
		cmocka_unit_test(a_timeline_announced_in_file_order_reads_in_time_order),
		cmocka_unit_test(
			changes_are_sorted_by_time_and_those_of_one_time_stay_in_file_order),
		cmocka_unit_test(a_timeline_that_refused_a_change_is_announced_again),
	};

	return cmocka_run_group_tests_name("lifetimes", tests, NULL, NULL);
}
