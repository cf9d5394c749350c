/* SPDX-License-Identifier: MIT */
/*
 * At the bounds of what is remembered of events and keys, and with references, definitions and
 * events in unusual orders. tests/e2e/stacks.sh shows the usual ones.
 */
#include <etw/kernel.h>
#include <etw/mirror.h>

#include "etwtool/relog/relog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { EVENTS_MOST = 1 << 16, KEYS_MOST = 1 << 20 };

static const struct etw_guid provider = { { 1 } };

static void keep_event(struct kept_stacks *stacks, int64_t time, uint32_t thread)
{
	const struct etw_record record = { .provider = &provider,
					   .raw_time = time,
					   .thread_id = thread };

	kept_stacks_note(stacks, &record);
}

/* A reference of the event's thread to a key. */
static bool keep_reference(struct kept_stacks *stacks, int64_t event_time, uint32_t thread,
			   uint64_t key, bool kept)
{
	struct etw_record record = { .provider = etw_kernel_group_guid(ETW_KERNEL_GROUP_STACK_WALK),
				     .classic = true,
				     .opcode = 38,
				     .pointer_size = 8,
				     .raw_time = event_time + 10 };
	struct etw_payload payload;
	bool stays;

	etw_payload_init(&payload, 8);
	etw_payload_u64(&payload, (uint64_t)event_time);
	etw_payload_u32(&payload, 100);
	etw_payload_u32(&payload, thread);
	etw_payload_u64(&payload, key);
	record.payload = payload.bytes;
	record.payload_size = (uint32_t)payload.size;
	stays = kept_stacks_keep(stacks, &record, kept);
	etw_payload_done(&payload);
	return stays;
}

static bool keep_definition(struct kept_stacks *stacks, uint64_t key, bool kept)
{
	struct etw_record record = { .provider = etw_kernel_group_guid(ETW_KERNEL_GROUP_STACK_WALK),
				     .classic = true,
				     .opcode = 35,
				     .pointer_size = 8,
				     .raw_time = 1000 };
	struct etw_payload payload;
	bool stays;

	etw_payload_init(&payload, 8);
	etw_payload_u64(&payload, key);
	record.payload = payload.bytes;
	record.payload_size = (uint32_t)payload.size;
	stays = kept_stacks_keep(stacks, &record, kept);
	etw_payload_done(&payload);
	return stays;
}

static void a_stack_goes_with_the_event_of_its_thread_and_time(void **state)
{
	struct kept_stacks stacks = { .named = false };

	(void)state;
	assert_false(keep_reference(&stacks, 50, 1, 0xa, true)); /* there is no event */
	keep_event(&stacks, 100, 1);
	keep_event(&stacks, 200, ETW_RECORD_NO_ID);
	assert_true(keep_reference(&stacks, 100, 1, 0xa, false));
	assert_true(keep_reference(&stacks, 100, 1, 0xb, false)); /* its other part */
	assert_false(keep_reference(&stacks, 100, 2, 0xc, true)); /* the filter would keep it */
	assert_false(keep_reference(&stacks, 101, 1, 0xc, true));
	assert_true(keep_reference(&stacks, 200, 7, 0xd, false)); /* the time alone says it */
	assert_true(keep_definition(&stacks, 0xa, false));
	assert_false(keep_definition(&stacks, 0xa, false)); /* of another stack */
	assert_true(keep_definition(&stacks, 0xb, false));
	assert_false(keep_definition(&stacks, 0xc, false));
	assert_true(keep_definition(&stacks, 0xc, true)); /* the filter's own */
	assert_true(keep_definition(&stacks, 0xd, false));
	kept_stacks_done(&stacks);
}

static void a_filter_about_stacks_keeps_them(void **state)
{
	struct kept_stacks stacks = { .named = true };

	(void)state;
	assert_true(keep_reference(&stacks, 50, 1, 0xa, true));
	assert_false(keep_reference(&stacks, 50, 1, 0xb, false));
	assert_true(keep_definition(&stacks, 0xa, false));
	assert_false(keep_definition(&stacks, 0xb, false));
	kept_stacks_done(&stacks);
}

/* Whether an event that is long past was kept is not known: its stack stays. */
static void stacks_of_forgotten_events_stay(void **state)
{
	struct kept_stacks stacks = { .named = false };

	(void)state;
	for (int64_t i = 0; i < EVENTS_MOST; i++) {
		keep_event(&stacks, 1000 + i, 1);
	}
	assert_false(keep_reference(&stacks, 999, 1, 0xa, true));
	assert_true(keep_reference(&stacks, 1000, 1, 0xa, false));
	assert_false(keep_reference(&stacks, 1000, 2, 0xa, false));
	keep_event(&stacks, 1000000, 1);
	assert_true(keep_reference(&stacks, 1000, 2, 0xa, false));
	assert_true(keep_reference(&stacks, 1001, 1, 0xa, false));
	assert_false(keep_reference(&stacks, 1001, 2, 0xa, true));
	assert_int_equal(stacks.events.count, EVENTS_MOST);
	/* Several events of one thread and time: the last one of them counts. */
	for (int64_t i = 0; i < EVENTS_MOST; i++) {
		keep_event(&stacks, 2000000, 1);
	}
	assert_int_equal(stacks.events.count, 1);
	assert_true(keep_reference(&stacks, 2000000, 1, 0xa, false));
	kept_stacks_done(&stacks);
}

static void beyond_a_number_of_keys_all_definitions_stay(void **state)
{
	struct kept_stacks stacks = { .named = true };

	(void)state;
	for (uint64_t key = 1; key <= KEYS_MOST; key++) {
		keep_reference(&stacks, 1, 1, key, true);
	}
	assert_false(keep_definition(&stacks, 1 << 22, false));
	keep_reference(&stacks, 1, 1, 1, true); /* is known */
	assert_false(keep_definition(&stacks, 1 << 22, false));
	keep_reference(&stacks, 1, 1, KEYS_MOST + 1, true);
	assert_true(keep_definition(&stacks, 1 << 22, false));
	assert_int_equal(stacks.keys.count, KEYS_MOST);
	kept_stacks_done(&stacks);
}

/* The buffers of processors are not in one order of time. */
static void a_part_needs_the_first_definition_from_the_last_reference_on(void **state)
{
	static const int64_t definitions[] = { 50, 5, 40, 30, 20, 60 };
	struct part_stacks stacks = { .full = false };

	(void)state;
	part_stacks_refer(&stacks, 0xa, 25);
	part_stacks_refer(&stacks, 0xa, 31);
	part_stacks_refer(&stacks, 0xa, -7);
	part_stacks_refer(&stacks, 0, INT64_MIN);
	for (size_t i = 0; i < sizeof definitions / sizeof definitions[0]; i++) {
		part_stacks_define(&stacks, 0xa, definitions[i]);
		part_stacks_define(&stacks, 0xb, definitions[i]);
		part_stacks_define(&stacks, 0, definitions[i]);
	}
	assert_true(part_stacks_need(&stacks, 0xa, 20)); /* of the first reference */
	assert_true(part_stacks_need(&stacks, 0xa, 40));
	assert_false(part_stacks_need(&stacks, 0xa, 50));
	assert_true(part_stacks_need(&stacks, 0, 5));
	assert_false(part_stacks_need(&stacks, 0, 20));
	assert_false(part_stacks_need(&stacks, 0xb, 5));
	part_stacks_done(&stacks);
	assert_false(part_stacks_need(&stacks, 0xa, 40));

	for (uint64_t key = 0; key < KEYS_MOST; key++) {
		part_stacks_refer(&stacks, key, 1);
	}
	assert_false(stacks.full);
	part_stacks_refer(&stacks, KEYS_MOST, 1);
	assert_true(part_stacks_need(&stacks, 1 << 22, 1));
	assert_int_equal(stacks.references.count, KEYS_MOST);
	part_stacks_done(&stacks);
	assert_false(part_stacks_need(&stacks, 1 << 22, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_goes_with_the_event_of_its_thread_and_time),
		cmocka_unit_test(a_filter_about_stacks_keeps_them),
		cmocka_unit_test(stacks_of_forgotten_events_stay),
		cmocka_unit_test(beyond_a_number_of_keys_all_definitions_stay),
		cmocka_unit_test(a_part_needs_the_first_definition_from_the_last_reference_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
