/* SPDX-License-Identifier: MIT */
/*
 * Times and durations are exact for every 64-bit input, checked against 128-bit arithmetic.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <etw/record.h>

#include "lib/etl/record.h"
#include "lib/source/event_record.h"

__extension__ typedef __int128 int128;

static uint64_t state_of_chance = 88172645463325252;

/* All magnitudes alike: most of a plain random number's values are near 2^63. */
static uint64_t chance(void)
{
	state_of_chance ^= state_of_chance << 13;
	state_of_chance ^= state_of_chance >> 7;
	state_of_chance ^= state_of_chance << 17;
	return state_of_chance >> (state_of_chance * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

static int64_t signed_chance(void)
{
	uint64_t value = chance();

	return (int64_t)(chance() & 1 ? value : 0 - value);
}

static int64_t expected_time(const struct etw_source_clock *clock, int64_t raw)
{
	int128 product = ((int128)raw - clock->anchor_raw) * 10000000;
	int128 time = product / (int128)clock->frequency;

	if (raw == ETW_RECORD_NO_TIME) {
		return ETW_RECORD_NO_TIME;
	}
	if (product % (int128)clock->frequency < 0) {
		time--;
	}
	time += clock->anchor_time;
	if (time > INT64_MAX) {
		return INT64_MAX;
	}
	return time <= INT64_MIN ? INT64_MIN + 1 : (int64_t)time;
}

static void check(const struct etw_source_clock *clock, int64_t raw)
{
	struct etl_format format;
	int64_t expected = expected_time(clock, raw);

	etl_format_init(&format, clock, 8, 0);
	assert_true(etw_clock_time(clock, raw) == expected);
	assert_true(etl_format_time(&format, raw) == expected);
}

static void a_time_is_rounded_down(void **state)
{
	static const struct {
		uint64_t frequency;
		int64_t ticks;
		int64_t time;
	} cases[] = {
		{ 10000000, 5, 5 },     { 10000000, -5, -5 },     { 2337949, 1, 4 },
		{ 2337949, -1, -5 },    { 3000000000, 299, 0 },   { 3000000000, 300, 1 },
		{ 3000000000, -1, -1 }, { 3000000000, -300, -1 }, { 3000000000, -301, -2 },
		{ 1, 2, 20000000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_source_clock clock = { ETW_CLOCK_QPC, cases[i].frequency, 1,
						  777,           132404548206236167, 0 };

		check(&clock, 777 + cases[i].ticks);
		assert_true(etw_clock_time(&clock, 777 + cases[i].ticks) ==
			    132404548206236167 + cases[i].time);
	}
}

/* Ten days of a 3 GHz cycle counter: the product has 75 bits. */
static void long_recordings_of_a_fast_clock_do_not_overflow(void **state)
{
	struct etw_source_clock clock = { ETW_CLOCK_CPU_CYCLE, 3000000000, 1, 5, 1000, 0 };

	(void)state;
	assert_true(etw_clock_time(&clock, 5 + INT64_C(3000000000) * 864000) ==
		    1000 + INT64_C(864000) * 10000000);
	check(&clock, 5 + INT64_C(3000000000) * 864000);
}

static void times_of_all_magnitudes_are_exact(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 300000; i++) {
		struct etw_source_clock clock = {
			.type = ETW_CLOCK_QPC,
			.frequency = i % 3 == 0 ? 1 + chance() % 10000000000 : chance(),
			.anchor_raw = signed_chance(),
			.anchor_time = i % 2 ? 132404548206236167 : signed_chance(),
		};

		if (clock.frequency == 0) {
			clock.frequency = 1;
		}
		check(&clock, signed_chance());
		check(&clock, (int64_t)((uint64_t)clock.anchor_raw + chance() % 1000000000000));
	}
}

/* A tick is a unit of time then, but a raw time before the anchor may not wrap to one after it. */
static void times_of_10_mhz_are_exact_at_the_ends(void **state)
{
	static const int64_t ends[] = { INT64_MIN + 1,   INT64_MIN + 100, -1, 0, 1,
					INT64_MAX - 100, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		struct etw_source_clock clock = { ETW_CLOCK_QPC, 10000000, 1, ends[i], 0, 0 };

		for (size_t j = 0; j < sizeof ends / sizeof ends[0]; j++) {
			clock.anchor_time = 132404548206236167;
			check(&clock, ends[j]);
			clock.anchor_time = ends[j];
			check(&clock, ends[i]);
			check(&clock, 5);
		}
		check(&clock, ETW_RECORD_NO_TIME);
	}
}

static void times_saturate_at_the_ends(void **state)
{
	struct etw_source_clock clock = { ETW_CLOCK_QPC, 1, 1, 0, 0, 0 };

	(void)state;
	assert_true(etw_clock_time(&clock, INT64_MAX) == INT64_MAX);
	assert_true(etw_clock_time(&clock, INT64_MIN + 1) == INT64_MIN + 1);
	assert_true(etw_clock_time(&clock, ETW_RECORD_NO_TIME) == ETW_RECORD_NO_TIME);
	clock.anchor_time = INT64_MIN;
	assert_true(etw_clock_time(&clock, -1) == INT64_MIN + 1);
	assert_true(etw_clock_time(&clock, 0) == INT64_MIN + 1); /* not ETW_RECORD_NO_TIME */
	clock.anchor_raw = INT64_MIN;
	clock.anchor_time = INT64_MAX;
	assert_true(etw_clock_time(&clock, INT64_MAX) == INT64_MAX);
}

static void durations_are_exact(void **state)
{
	(void)state;
	assert_true(etw_ticks_to_ns(3, 10000000) == 300);
	assert_true(etw_ticks_to_ns(1, 3) == 333333333);
	assert_true(etw_ticks_to_ns(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(etw_ticks_to_ns(UINT64_MAX, UINT64_MAX) == 1000000000);
	for (unsigned i = 0; i < 300000; i++) {
		uint64_t ticks = chance();
		uint64_t frequency = chance();
		int128 expected;

		if (frequency == 0) {
			frequency = 1;
		}
		expected = (int128)ticks * 1000000000 / (int128)frequency;
		assert_true(etw_ticks_to_ns(ticks, frequency) ==
			    (expected > UINT64_MAX ? UINT64_MAX : (uint64_t)expected));
	}
}

static void a_distance_between_any_two_times_is_exact(void **state)
{
	(void)state;
	assert_true(etw_time_between(INT64_MIN, INT64_MAX) == UINT64_MAX);
	assert_true(etw_time_between(-1, 1) == 2);
	assert_true(etw_time_between(7, 7) == 0);
	assert_true(etw_time_between(INT64_MAX, INT64_MIN) == 0);
}

static void sums_of_times_and_distances_saturate(void **state)
{
	static const struct {
		int64_t time, distance, sum;
	} cases[] = {
		{ 5, 7, 12 },
		{ 5, -7, -2 },
		{ INT64_MAX, 1, INT64_MAX },
		{ INT64_MAX - 1, 1, INT64_MAX },
		{ INT64_MIN + 1, -1, INT64_MIN + 1 },
		{ INT64_MIN, 0, INT64_MIN + 1 },
		{ 0, INT64_MIN, INT64_MIN + 1 },
		{ INT64_MAX, INT64_MIN, -1 },
		{ INT64_MIN + 1, INT64_MAX, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_true(etw_time_add(cases[i].time, cases[i].distance) == cases[i].sum);
	}
}

static void no_time_is_before_1970_when_shown(void **state)
{
	(void)state;
	/* 2024-05-14 07:00 UTC is 1,715,670,000 s after 1970, and 1970 is 11,644,473,600 s after
	 * 1601. */
	assert_true(etw_time_since_1970(INT64_C(133601436000000000)) ==
		    UINT64_C(17156700000000000));
	assert_true(etw_time_since_1970(INT64_C(116444736000000000)) == 0);
	assert_true(etw_time_since_1970(INT64_C(116444735999999999)) == 0);
	assert_true(etw_time_since_1970(INT64_MIN) == 0);
	assert_true(etw_time_since_1970(INT64_MAX) == UINT64_C(9106927300854775807));
}

static void ticks_of_milliseconds_are_exact(void **state)
{
	(void)state;
	assert_true(etw_ticks_of_ms(1500, 10000000) == 15000000);
	assert_true(etw_ticks_of_ms(999, 1) == 0);
	assert_true(etw_ticks_of_ms(1000, INT64_MAX) == INT64_MAX);
	assert_true(etw_ticks_of_ms(3000, INT64_MAX) == UINT64_MAX);
}

static void doubles_outside_an_integer_type_become_its_ends(void **state)
{
	(void)state;
	assert_true(etw_u64_of_double(1.9) == 1 && etw_i64_of_double(-1.9) == -1);
	assert_true(etw_u64_of_double(-0.5) == 0 && etw_u64_of_double(-1e300) == 0);
	assert_true(etw_u64_of_double(0x1p64) == UINT64_MAX &&
		    etw_u64_of_double(INFINITY) == UINT64_MAX);
	assert_true(etw_u64_of_double(0x1p63) == UINT64_C(1) << 63);
	assert_true(etw_i64_of_double(0x1p63) == INT64_MAX &&
		    etw_i64_of_double(INFINITY) == INT64_MAX);
	assert_true(etw_i64_of_double(-0x1p63) == INT64_MIN &&
		    etw_i64_of_double(-INFINITY) == INT64_MIN);
	assert_true(etw_u64_of_double(NAN) == 0 && etw_i64_of_double(NAN) == 0);
}

static void clocks_have_the_names_of_the_summaries(void **state)
{
	(void)state;
	assert_string_equal(etw_clock_type_name(ETW_CLOCK_QPC), "qpc");
	assert_string_equal(etw_clock_type_name(ETW_CLOCK_SYSTEM_TIME), "systemtime");
	assert_string_equal(etw_clock_type_name(ETW_CLOCK_CPU_CYCLE), "cputick");
	assert_string_equal(etw_clock_type_name((enum etw_clock_type)9), "unknown");
}

#define SECOND_NS UINT64_C(1000000000)

/* The time since the start of the machine, at the anchor and elsewhere. */
static void the_uptime_is_the_longer_of_two(void **state)
{
	static const int64_t start = 132404548200000000;
	static const struct {
		enum etw_clock_type type;
		int64_t anchor_raw; /* of 1 MHz */
		int64_t boot_time;
		int64_t raw;
		uint64_t uptime_ns;
	} cases[] = {
		/* By the time of the start. */
		{ ETW_CLOCK_QPC, 1000, start - 50000000, 1000, 5 * SECOND_NS },
		{ ETW_CLOCK_QPC, 1000, start - 50000000, 2001000, 7 * SECOND_NS },
		{ ETW_CLOCK_QPC, 1000, start - 50000000, 1000 - 2000000, 3 * SECOND_NS },
		{ ETW_CLOCK_QPC, 1000, start - 50000000, 1000 - 9000000, 0 },
		{ ETW_CLOCK_SYSTEM_TIME, start, start - 50000000, start, 5 * SECOND_NS },
		/* By the counter. */
		{ ETW_CLOCK_QPC, 9000000, start - 50000000, 9000000, 9 * SECOND_NS },
		{ ETW_CLOCK_QPC, 9000000, 0, 9000001, 9 * SECOND_NS + 1000 },
		{ ETW_CLOCK_CPU_CYCLE, 9000000, 0, 9000000, 9 * SECOND_NS },
		{ ETW_CLOCK_QPC, 9000000, start + 1, 9000000, 9 * SECOND_NS },
		/* Nothing is known. */
		{ ETW_CLOCK_SYSTEM_TIME, start, 0, start, ETW_UPTIME_MOST_NS },
		{ ETW_CLOCK_SYSTEM_TIME, start, start, start, ETW_UPTIME_MOST_NS },
		{ ETW_CLOCK_QPC, 0, INT64_MIN, 5, ETW_UPTIME_MOST_NS },
		{ ETW_CLOCK_QPC, -5, -1, 5, ETW_UPTIME_MOST_NS },
		{ ETW_CLOCK_QPC, 9000000, 0, INT64_MIN, ETW_UPTIME_MOST_NS },
		/* A year at most. */
		{ ETW_CLOCK_QPC, 1000, 1, 1000, ETW_UPTIME_MOST_NS },
		{ ETW_CLOCK_QPC, INT64_MAX, 0, INT64_MAX, ETW_UPTIME_MOST_NS },
		{ ETW_CLOCK_QPC, 1000, start - 50000000, INT64_MAX, ETW_UPTIME_MOST_NS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_source_clock clock = { .type = cases[i].type,
						  .frequency = 1000000,
						  .anchor_raw = cases[i].anchor_raw,
						  .anchor_time = start };

		etw_clock_find_uptime(&clock, cases[i].boot_time);
		assert_true(etw_clock_uptime(&clock, cases[i].raw) == cases[i].uptime_ns);
		assert_true(clock.uptime_ns <= ETW_UPTIME_MOST_NS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_is_rounded_down),
		cmocka_unit_test(long_recordings_of_a_fast_clock_do_not_overflow),
		cmocka_unit_test(times_of_all_magnitudes_are_exact),
		cmocka_unit_test(times_of_10_mhz_are_exact_at_the_ends),
		cmocka_unit_test(times_saturate_at_the_ends),
		cmocka_unit_test(durations_are_exact),
		cmocka_unit_test(a_distance_between_any_two_times_is_exact),
		cmocka_unit_test(sums_of_times_and_distances_saturate),
		cmocka_unit_test(the_uptime_is_the_longer_of_two),
		cmocka_unit_test(no_time_is_before_1970_when_shown),
		cmocka_unit_test(ticks_of_milliseconds_are_exact),
		cmocka_unit_test(doubles_outside_an_integer_type_become_its_ends),
		cmocka_unit_test(clocks_have_the_names_of_the_summaries),
	};

	return cmocka_run_group_tests_name("source_clock", tests, NULL, NULL);
}
