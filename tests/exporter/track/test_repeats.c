/* SPDX-License-Identifier: MIT */
/*
 * Which records of a file are repetitions of those in files before: the n-th of the same contents
 * if one file before has n of them.
 */
#include "exporter/track/repeats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/guid.h"

static const struct etw_guid provider = { .bytes = { 1, 2, 3 } };
static const struct etw_guid other_provider = { .bytes = { 1, 2, 4 } };
static const uint8_t payload[] = { 1, 2, 3, 4 };
static const uint8_t other_payload[] = { 1, 2, 3, 5 };

static struct etw_record make_record(void)
{
	return (struct etw_record){ .provider = &provider,
				    .payload = payload,
				    .payload_size = sizeof payload,
				    .type = ETW_RECORD_EVENT,
				    .raw_time = 1000 };
}

static void the_nth_record_is_a_repetition_if_a_file_before_has_n_of_them(void **state)
{
	/* Files with so many of the same record, and how many of them are repetitions. */
	static const struct {
		unsigned records, repeated;
	} files[] = { { 2, 0 }, { 1, 1 }, { 3, 2 }, { 0, 0 }, { 4, 3 } };
	const struct etw_record record = make_record();
	struct repeats repeats = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		for (unsigned j = 0; j < files[i].records; j++) {
			assert_int_equal(repeats_add(&repeats, &record), j < files[i].repeated);
		}
		repeats_next_file(&repeats);
	}
	repeats_done(&repeats);
}

static void records_that_differ_anywhere_are_no_repetitions(void **state)
{
	enum { DIFFERENT = 17 };
	struct etw_record records[DIFFERENT];
	const struct etw_record first = make_record();
	struct repeats repeats = { 0 };

	(void)state;
	for (size_t i = 0; i < DIFFERENT; i++) {
		records[i] = make_record();
	}
	records[0].provider = &other_provider;
	records[1].payload = other_payload;
	records[2].payload_size--;
	records[3].process_id = 1;
	records[4].thread_id = 1;
	records[5].id = 1;
	records[6].task = 1;
	records[7].processor = 1;
	records[8].version = 1;
	records[9].opcode = 1;
	records[10].level = 1;
	records[11].channel = 1;
	records[12].type = ETW_RECORD_FULL;
	records[13].raw_time++;
	records[14].keyword = 1;
	records[15].activity = &provider;
	records[16].extended = payload;
	records[16].extended_size = sizeof payload;
	repeats_add(&repeats, &first);
	repeats_next_file(&repeats);
	for (size_t i = 0; i < DIFFERENT; i++) {
		assert_false(repeats_add(&repeats, &records[i]));
	}
	assert_true(repeats_add(&repeats, &first));
	repeats_next_file(&repeats);
	for (size_t i = 0; i < DIFFERENT; i++) {
		assert_true(repeats_add(&repeats, &records[i]));
	}
	repeats_done(&repeats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nth_record_is_a_repetition_if_a_file_before_has_n_of_them),
		cmocka_unit_test(records_that_differ_anywhere_are_no_repetitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
