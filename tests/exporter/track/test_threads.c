/* SPDX-License-Identifier: MIT */
/*
 * The process of a thread: from events and, if no event names it, from what a live session found.
 */
#include "exporter/track/processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_thread_found_running_is_used_until_an_event_names_it(void **state)
{
	struct threads threads;

	(void)state;
	threads_init(&threads, 10);
	assert_int_equal(threads_process(&threads, 20, 5), ETW_RECORD_NO_ID);
	threads_found(&threads, 20, 8);
	assert_int_equal(threads_process(&threads, 20, 5), 8);
	threads_announce(&threads, LIFETIME_EXISTS, 20, 6, 9);
	assert_int_equal(threads_process(&threads, 20, 7), 9);
	threads_clear(&threads);
	assert_int_equal(threads_process(&threads, 20, 7), ETW_RECORD_NO_ID);
	threads_clear(&threads);
}

static void found_threads_are_bounded(void **state)
{
	struct threads threads;

	(void)state;
	threads_init(&threads, 2);
	threads_found(&threads, 20, 8);
	threads_found(&threads, 24, 8);
	threads_found(&threads, 28, 8);
	assert_int_equal(threads_process(&threads, 24, 0), 8);
	assert_int_equal(threads_process(&threads, 28, 0), ETW_RECORD_NO_ID);
	threads_clear(&threads);
}

static void thread_0_is_always_idle(void **state)
{
	struct threads threads;

	(void)state;
	threads_init(&threads, 2);
	threads_found(&threads, 0, 8);
	assert_int_equal(threads_process(&threads, 0, 0), 0);
	threads_clear(&threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_found_running_is_used_until_an_event_names_it),
		cmocka_unit_test(found_threads_are_bounded),
		cmocka_unit_test(thread_0_is_always_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
