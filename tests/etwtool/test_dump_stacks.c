/* SPDX-License-Identifier: MIT */
/*
 * Stacks and events in unusual orders, and stacks that are not whole. tests/e2e/stacks.sh shows
 * the usual ones, with their images.
 */
#include <etw/kernel.h>
#include <etw/mirror.h>

#include "etwtool/dump/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

static const struct etw_guid provider = { { 1 } };

/* A record of StackWalk; addresses end with 0. */
struct walk {
	uint8_t opcode;
	int64_t time;
	uint16_t processor;
	int64_t event_time;
	uint32_t thread_id;
	uint64_t key;
	uint64_t addresses[4];
};

static void learn_walk(struct dump_stacks *stacks, const struct walk *walk)
{
	struct etw_record record = { .provider = etw_kernel_group_guid(ETW_KERNEL_GROUP_STACK_WALK),
				     .classic = true,
				     .opcode = walk->opcode,
				     .pointer_size = 8,
				     .processor = walk->processor,
				     .raw_time = walk->time };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	if (walk->event_time != 0) {
		etw_payload_u64(&payload, (uint64_t)walk->event_time);
		etw_payload_u32(&payload, 100);
		etw_payload_u32(&payload, walk->thread_id);
	}
	if (walk->key != 0) {
		etw_payload_u64(&payload, walk->key);
	}
	for (size_t i = 0; walk->addresses[i] != 0; i++) {
		etw_payload_u64(&payload, walk->addresses[i]);
	}
	record.payload = payload.bytes;
	record.payload_size = (uint32_t)payload.size;
	dump_stacks_learn(stacks, &record);
	etw_payload_done(&payload);
}

static struct dump_stacks *stacks_of(bool join, const struct walk *walks, size_t count)
{
	struct etw_error err = { 0 };
	struct dump_stacks *stacks = dump_stacks_new(join, &err);

	assert_non_null(stacks);
	for (size_t i = 0; i < count; i++) {
		learn_walk(stacks, &walks[i]);
	}
	assert_true(dump_stacks_finish(stacks, &err));
	return stacks;
}

static void assert_stack(struct dump_stacks *stacks, const struct etw_record *record,
			 const char *expected)
{
	struct etw_text text = { 0 };
	size_t count;

	assert_true(dump_stacks_of(stacks, record, &count));
	for (size_t i = 0; i < count; i++) {
		text_add_string(&text, i > 0 ? " " : "");
		dump_stacks_add(stacks, i, &text);
	}
	assert_string_equal(text.data ? text.data : "", expected);
	text_free(&text);
}

static struct etw_record event_at(int64_t time, uint32_t thread_id, uint16_t processor)
{
	return (struct etw_record){ .provider = &provider,
				    .raw_time = time,
				    .thread_id = thread_id,
				    .process_id = 100,
				    .processor = processor,
				    .kernel_group = ETW_RECORD_NO_GROUP };
}

static void an_event_has_the_stacks_of_its_thread_in_their_order(void **state)
{
	static const struct walk walks[] = {
		/* The part of the program is in an earlier buffer, and so is what defines it. */
		{ 35, 300, .key = 0xa, .addresses = { 0x33, 0x44 } },
		{ 38, 120, 1, 100, 7, .key = 0xa },
		{ 35, 110, .key = 0xa, .addresses = { 0x99 } }, /* of another stack, before */
		{ 32, 101, 0, 100, 7, .addresses = { 0x11, 0x22 } },
		{ 32, 102, 1, 100, 8, .addresses = { 0x55 } },
		{ 38, 103, 1, 100, 9, .key = 0xb }, /* nothing defines it */
		{ 35, 102, .key = 0xb, .addresses = { 0x66 } },
	};
	struct dump_stacks *stacks = stacks_of(true, walks, sizeof walks / sizeof walks[0]);
	struct etw_record record = event_at(100, 7, 5);

	(void)state;
	assert_stack(stacks, &record, "0x11 0x22 0x33 0x44");
	record = event_at(100, 8, 5);
	assert_stack(stacks, &record, "0x55");
	record = event_at(100, 9, 5);
	assert_stack(stacks, &record, "");
	record = event_at(101, 7, 5);
	assert_stack(stacks, &record, "");
	record = event_at(ETW_RECORD_NO_TIME, 7, 5);
	assert_stack(stacks, &record, "");
	dump_stacks_free(stacks);
}

static void an_event_without_a_thread_has_the_stack_of_its_processor(void **state)
{
	static const struct walk walks[] = {
		{ 32, 101, 0, 100, 7, .addresses = { 0x11 } },
		{ 32, 101, 1, 100, 8, .addresses = { 0x22 } },
		{ 32, 150, 0, 100, 8, .addresses = { 0x33 } }, /* the thread has moved */
	};
	struct dump_stacks *stacks = stacks_of(true, walks, sizeof walks / sizeof walks[0]);
	struct etw_record record = event_at(100, ETW_RECORD_NO_ID, 1);

	(void)state;
	assert_stack(stacks, &record, "0x22 0x33");
	record = event_at(100, ETW_RECORD_NO_ID, 0);
	assert_stack(stacks, &record, "0x11");
	record = event_at(100, ETW_RECORD_NO_ID, 2);
	assert_stack(stacks, &record, "");
	dump_stacks_free(stacks);
}

static void stacks_of_other_records_are_joined_on_request(void **state)
{
	static const struct walk walks[] = { { 32, 101, 0, 100, 7, .addresses = { 0x11 } } };
	struct dump_stacks *stacks = stacks_of(false, walks, 1);
	struct etw_record record = event_at(100, 7, 0);

	(void)state;
	assert_stack(stacks, &record, "");
	dump_stacks_free(stacks);
}

/* An item on disk: docs/etl-format.md section 9. */
static void items_are_read_as_far_as_they_are_whole(void **state)
{
	static const struct {
		uint16_t type, size;
		const char *expected;
	} rows[] = {
		{ ETW_EXTENDED_STACK64, 24, "0x1111111111111111 0x2222222222222222" },
		{ ETW_EXTENDED_STACK64, 23, "0x1111111111111111" },
		{ ETW_EXTENDED_STACK64, 8, "" },
		{ ETW_EXTENDED_STACK64, 7, "" },
		{ ETW_EXTENDED_STACK64, 0, "" },
		{ ETW_EXTENDED_STACK32, 16, "0x11111111 0x11111111" },
		{ ETW_EXTENDED_STACK32, 13, "0x11111111" },
		{ ETW_EXTENDED_STACK32, 3, "" },
		{ ETW_EXTENDED_SID, 24, "" },
	};
	struct dump_stacks *stacks = stacks_of(false, NULL, 0);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct etw_record record = event_at(100, 7, 0);
		uint8_t item[32] = { 0 };
		uint8_t *copy;
		size_t size = 8 + ((size_t)rows[i].size + 7) / 8 * 8;

		item[0] = (uint8_t)size;
		item[2] = (uint8_t)rows[i].type;
		item[6] = (uint8_t)rows[i].size;
		memset(item + 16, 0x11, 8);
		memset(item + 24, 0x22, 8);
		copy = exact_copy(item, size);
		record.extended = copy;
		record.extended_size = (uint32_t)size;
		assert_stack(stacks, &record, rows[i].expected);
		assert_int_equal(dump_stacks_in(&record), rows[i].type != ETW_EXTENDED_SID);
		free(copy);
	}
	dump_stacks_free(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_has_the_stacks_of_its_thread_in_their_order),
		cmocka_unit_test(an_event_without_a_thread_has_the_stack_of_its_processor),
		cmocka_unit_test(stacks_of_other_records_are_joined_on_request),
		cmocka_unit_test(items_are_read_as_far_as_they_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
