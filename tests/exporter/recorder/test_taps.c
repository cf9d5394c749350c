/* SPDX-License-Identifier: MIT */
/*
 * The memory of the flight recorder, divided among consumers, and what is left for those that come
 * later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "exporter/recorder/tap.h"

#define MIB (UINT64_C(1) << 20)

static void a_memory_that_is_too_small_is_refused(void **state)
{
	const struct config_recorder recorder = { .memory_bytes = 4 * MIB };
	struct etw_error err = { 0 };

	(void)state;
	assert_null(taps_new(&recorder, 4, true, &err));
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
}

static void consumers_that_come_later_share_an_eighth(void **state)
{
	const struct config_recorder recorder = { .memory_bytes = 32 * MIB };
	struct taps *taps = taps_new(&recorder, 2, true, NULL);
	struct tap *list[TAPS_MOST];

	(void)state;
	assert_non_null(taps);
	assert_int_equal(taps_list(taps, list), 2);
	assert_ptr_equal(taps_of(taps, 0), list[0]);
	/* 4 MiB are left: 2 MiB, then 1.4 MiB, and then too little. */
	assert_non_null(taps_of(taps, 2));
	assert_ptr_equal(taps_of(taps, 2), taps_of(taps, 2));
	assert_non_null(taps_of(taps, 3));
	assert_null(taps_of(taps, 4));
	assert_int_equal(taps_list(taps, list), 4);
	assert_null(taps_of(taps, TAPS_MOST));
	taps_free(taps);
}

static void a_replay_has_all_of_it(void **state)
{
	const struct config_recorder recorder = { .memory_bytes = 32 * MIB };
	struct taps *taps = taps_new(&recorder, 1, false, NULL);

	(void)state;
	assert_non_null(taps_of(taps, 0));
	assert_null(taps_of(taps, 1));
	taps_free(taps);
	assert_null(taps_of(NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_memory_that_is_too_small_is_refused),
		cmocka_unit_test(consumers_that_come_later_share_an_eighth),
		cmocka_unit_test(a_replay_has_all_of_it),
	};

	log_configure(LOG_ERROR, LOG_LOGFMT);
	return cmocka_run_group_tests_name("taps", tests, NULL, NULL);
}
