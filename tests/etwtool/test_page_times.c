/* SPDX-License-Identifier: MIT */
/*
 * When backfill writes pages. Times by "date -u +%s": (seconds + 11644473600) * 10^7.
 */
#include "etwtool/page_series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/source/event_record.h"

#define SECOND INT64_C(10000000)
#define START  INT64_C(133601436000000000) /* 2024-05-14T07:00:00Z */
#define YEAR   (365 * 86400 * SECOND)

static int64_t pages[64];

/* The pages before a record; the first of them in pages. */
static unsigned due(struct page_times *times, int64_t time)
{
	unsigned count = 0;
	int64_t page;

	while (page_times_due(times, time, &page)) {
		assert_true(count < sizeof pages / sizeof pages[0]);
		pages[count++] = page;
	}
	return count;
}

static void a_page_stands_at_each_multiple_of_the_step(void **state)
{
	struct page_times times = { .step = 15 * SECOND };

	(void)state;
	assert_int_equal(due(&times, START + 1), 1);
	assert_true(pages[0] == START);
	assert_int_equal(due(&times, START + 14 * SECOND), 0);
	assert_int_equal(due(&times, START + 15 * SECOND), 1);
	assert_true(pages[0] == START + 15 * SECOND);
	assert_int_equal(due(&times, START + 61 * SECOND), 3);
	assert_true(pages[2] == START + 60 * SECOND);
	assert_int_equal(due(&times, START + 20 * SECOND), 0); /* late */
	assert_int_equal(due(&times, ETW_RECORD_NO_TIME), 0);
	assert_true(times.next == START + 75 * SECOND);
	assert_true(times.outside == 0);
}

/* 2024-05-14T07:00:00Z is 1715670000 s since 1970, which is 7 * 245095714 + 2. */
static void steps_are_counted_from_1970(void **state)
{
	struct page_times times = { .step = 7 * SECOND };
	struct page_times first = { .step = 7 * SECOND };

	(void)state;
	assert_int_equal(due(&times, START), 1);
	assert_true(pages[0] == START - 2 * SECOND);
	assert_int_equal(due(&times, START + YEAR), 2); /* 31536000 is 7 * 4505142 + 6 */
	assert_true(pages[1] == START + YEAR - 1 * SECOND);

	/* No page is earlier than 1970. */
	assert_int_equal(due(&first, INT64_C(116444736000000000)), 1);
	assert_true(pages[0] == INT64_C(116444736000000000));
}

static void a_pause_gets_a_page_at_each_end(void **state)
{
	struct page_times times = { .step = 15 * SECOND };

	(void)state;
	assert_int_equal(due(&times, START), 1);
	/* 300 s behind the next page: still all of them, at 15, 30, … 315. */
	assert_int_equal(due(&times, START + 315 * SECOND), 21);
	assert_int_equal(due(&times, START + 10 * YEAR + 7 * SECOND), 2);
	assert_true(pages[0] == START + 330 * SECOND);
	assert_true(pages[1] == START + 10 * YEAR);
	assert_int_equal(due(&times, START + 10 * YEAR + 22 * SECOND), 1);
	assert_true(pages[0] == START + 10 * YEAR + 15 * SECOND);
}

static void a_step_may_be_longer_than_a_pause(void **state)
{
	struct page_times times = { .step = 3600 * SECOND };

	(void)state;
	for (int64_t hour = 0; hour < 5; hour++) {
		assert_int_equal(due(&times, START + hour * 3600 * SECOND), 1);
		assert_int_equal(due(&times, START + (hour * 3600 + 1800) * SECOND), 0);
		assert_true(pages[0] == START + hour * 3600 * SECOND);
	}
}

static void times_that_no_page_can_have_are_counted(void **state)
{
	static const int64_t outside[] = { INT64_MIN + 1,
					   -1,
					   0,
					   1,
					   INT64_C(116444735999999999),
					   INT64_C(2650467744000000000),
					   INT64_MAX - 1,
					   INT64_MAX };
	struct page_times times = { .step = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
		assert_int_equal(due(&times, outside[i]), 0);
	}
	assert_true(times.outside == sizeof outside / sizeof outside[0]);
	assert_true(times.next == 0);
	assert_int_equal(due(&times, INT64_C(116444736000000000)), 1);  /* 1970 */
	assert_int_equal(due(&times, INT64_C(2650467743999999999)), 2); /* the end of 9999 */
	assert_true(pages[1] == INT64_C(2650467743999999999));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_stands_at_each_multiple_of_the_step),
		cmocka_unit_test(steps_are_counted_from_1970),
		cmocka_unit_test(a_pause_gets_a_page_at_each_end),
		cmocka_unit_test(a_step_may_be_longer_than_a_pause),
		cmocka_unit_test(times_that_no_page_can_have_are_counted),
	};

	return cmocka_run_group_tests_name("page_times", tests, NULL, NULL);
}
