/* SPDX-License-Identifier: MIT */
/*
 * The schedule of a replay. Nothing here asserts how long something took, only that it was not too
 * early.
 */
#include "exporter/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os.h"
#include "lib/source/event_record.h"

static const int64_t start = INT64_C(132500000000000000);

enum { MS_100NS = 10000, MS_NS = 1000000 };

static void an_event_is_not_released_before_its_time(void **state)
{
	struct pace *pace = pace_new(10, NULL);
	uint64_t begin;

	(void)state;
	assert_non_null(pace);
	begin = os_monotonic_ns();
	assert_true(pace_wait(pace, start));
	/* 300 ms of the recording at ten times its speed. */
	assert_true(pace_wait(pace, start + 300 * MS_100NS));
	assert_true(os_monotonic_ns() - begin >= 30 * MS_NS);
	pace_free(pace);
}

static void what_is_not_later_than_released_events_is_due_at_once(void **state)
{
	struct pace *pace = pace_new(1, NULL);
	uint64_t begin;

	(void)state;
	assert_non_null(pace);
	assert_true(pace_wait(pace, start));
	begin = os_monotonic_ns();
	for (int64_t back = 0; back < 1000; back++) {
		assert_true(pace_wait(pace, start - back * 1000 * MS_100NS));
	}
	assert_true(pace_wait(pace, ETW_RECORD_NO_TIME));
	/* A schedule that held them back would have needed far more than this minute. */
	assert_true(os_monotonic_ns() - begin < UINT64_C(60000) * MS_NS);
	pace_free(pace);
}

static void a_record_without_time_does_not_start_the_schedule(void **state)
{
	struct pace *pace = pace_new(1, NULL);

	(void)state;
	assert_non_null(pace);
	assert_true(pace_wait(pace, ETW_RECORD_NO_TIME));
	/* Were the schedule to start at the beginning of time, this would be due in 420 years. */
	assert_true(pace_wait(pace, start));
	pace_free(pace);
}

struct waiter {
	struct pace *pace;
	bool released;
};

static void wait_a_century(void *context)
{
	struct waiter *waiter = context;

	waiter->released = pace_wait(waiter->pace, start + INT64_C(36525) * 24 * 3600 * 10000000);
}

static void stopping_ends_a_wait_and_every_later_one(void **state)
{
	struct waiter waiter = { .pace = pace_new(1, NULL), .released = true };
	struct os_thread thread;

	(void)state;
	assert_non_null(waiter.pace);
	assert_true(pace_wait(waiter.pace, start));
	assert_true(os_thread_start(&thread, wait_a_century, &waiter, NULL));
	pace_stop(waiter.pace);
	os_thread_join(&thread);
	assert_false(waiter.released);
	wait_a_century(&waiter);
	assert_false(waiter.released);
	pace_free(waiter.pace);
}

static void falling_behind_shows_as_lag(void **state)
{
	struct pace *pace = pace_new(1000000, NULL);
	uint64_t begin;

	(void)state;
	assert_non_null(pace);
	assert_true(pace_wait(pace, start));
	begin = os_monotonic_ns();
	while (os_monotonic_ns() - begin < 20 * MS_NS) {
	}
	/* 6000 s of the recording take 6 ms; 20 ms have passed. */
	assert_true(pace_wait(pace, start + INT64_C(6000) * 10000000));
	assert_true(pace_lag_ns(pace) > 13 * MS_NS);
	pace_free(pace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_not_released_before_its_time),
		cmocka_unit_test(what_is_not_later_than_released_events_is_due_at_once),
		cmocka_unit_test(a_record_without_time_does_not_start_the_schedule),
		cmocka_unit_test(stopping_ends_a_wait_and_every_later_one),
		cmocka_unit_test(falling_behind_shows_as_lag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
