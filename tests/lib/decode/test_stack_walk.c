/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/mirror.h>
#include <etw/stack_walk.h>

#include "base/cursor.h"
#include "tests/support/exact_copy.h"

static struct etw_record kernel_record(uint8_t group, uint8_t opcode, uint8_t version,
				       const struct etw_payload *payload)
{
	return (struct etw_record){
		.provider = etw_kernel_group_guid(group),
		.type = ETW_RECORD_PERFINFO,
		.classic = true,
		.kernel_group = group,
		.opcode = opcode,
		.version = version,
		.pointer_size = payload->pointer_size,
		.payload = payload->bytes,
		.payload_size = (uint32_t)payload->size,
		.process_id = ETW_RECORD_NO_ID,
		.thread_id = ETW_RECORD_NO_ID,
		.raw_time = 7000,
	};
}

/* The layouts of docs/etl-format.md section 15; what follows the fixed part are addresses. */
static void records_are_read_at_both_pointer_sizes(void **state)
{
	static const struct {
		uint8_t opcode;
		enum etw_stack_walk_type type;
		bool event, key, addresses;
	} rows[] = {
		{ 32, ETW_STACK_WALK_STACK, true, false, true },
		{ 35, ETW_STACK_WALK_DEFINITION, false, true, true },
		{ 36, ETW_STACK_WALK_DEFINITION, false, true, true },
		{ 37, ETW_STACK_WALK_REFERENCE, true, true, false },
		{ 38, ETW_STACK_WALK_REFERENCE, true, true, false },
	};

	(void)state;
	for (size_t i = 0; i < 2 * (sizeof rows / sizeof rows[0]); i++) {
		const uint8_t pointer_size = i % 2 == 0 ? 8 : 4;
		struct etw_record record;
		struct etw_payload payload;
		struct etw_stack_walk walk;
		size_t fixed;

		etw_payload_init(&payload, pointer_size);
		if (rows[i / 2].event) {
			etw_payload_u64(&payload, 6900);
			etw_payload_u32(&payload, 100);
			etw_payload_u32(&payload, 101);
		}
		if (rows[i / 2].key) {
			etw_payload_pointer(&payload, 0xabcdef00);
		}
		fixed = payload.size;
		if (rows[i / 2].addresses) {
			etw_payload_pointer(&payload, 0x11);
			etw_payload_pointer(&payload, 0x22);
		}
		record = kernel_record(0x18, rows[i / 2].opcode, 2, &payload);
		assert_true(etw_is_stack_walk(&record));
		assert_true(etw_stack_walk_read(&record, &walk));
		assert_int_equal(walk.type, rows[i / 2].type);
		assert_int_equal(walk.event_time, rows[i / 2].event ? 6900 : 0);
		assert_int_equal(walk.process_id, rows[i / 2].event ? 100 : 0);
		assert_int_equal(walk.thread_id, rows[i / 2].event ? 101 : 0);
		assert_int_equal(walk.key, rows[i / 2].key ? 0xabcdef00 : 0);
		assert_int_equal(walk.address_count, rows[i / 2].addresses ? 2 : 0);
		if (rows[i / 2].addresses) {
			assert_int_equal(etw_load_u32(walk.addresses + pointer_size), 0x22);
		}
		for (size_t size = 0; size < payload.size; size++) {
			uint8_t *copy = exact_copy(payload.bytes, size);

			record.payload = copy;
			record.payload_size = (uint32_t)size;
			assert_int_equal(etw_stack_walk_read(&record, &walk), size >= fixed);
			if (size >= fixed && rows[i / 2].addresses) {
				assert_int_equal(walk.address_count, (size - fixed) / pointer_size);
			}
			free(copy);
		}
		etw_payload_done(&payload);
	}
}

static void other_records_are_no_stacks(void **state)
{
	struct etw_payload payload;
	struct etw_record record;
	struct etw_stack_walk walk;

	(void)state;
	etw_payload_init(&payload, 8);
	etw_payload_zeros(&payload, 64);
	record = kernel_record(0x18, 33, 2, &payload);
	assert_false(etw_stack_walk_read(&record, &walk));
	record = kernel_record(0x0f, 32, 2, &payload);
	assert_false(etw_is_stack_walk(&record));
	assert_false(etw_stack_walk_read(&record, &walk));
	etw_payload_done(&payload);
}

/* The payload holds each number at its own offset, so that the thread says where it was read. */
static void an_event_without_a_thread_in_its_header_may_name_it(void **state)
{
	static const struct {
		uint8_t group, opcode, version;
		uint32_t at[2]; /* with 4 and with 8 bytes; 0xff: nowhere */
	} rows[] = {
		{ 0x0f, 46, 2, { 4, 8 } },       /* SampledProfile */
		{ 0x0f, 47, 2, { 4, 8 } },       /* PmcCounterProfile */
		{ 0x0f, 68, 2, { 0xff, 0xff } }, /* DPC */
		{ 0x05, 36, 2, { 0, 0 } },       /* CSwitch */
		{ 0x05, 50, 2, { 0xff, 0xff } }, /* ReadyThread names another one */
		{ 0x02, 32, 2, { 24, 32 } },     /* HardFault */
		{ 0x04, 64, 2, { 4, 8 } },       /* FileIo/Create */
		{ 0x04, 64, 3, { 8, 16 } },      { 0x04, 65, 2, { 4, 8 } }, /* Cleanup */
		{ 0x04, 66, 3, { 12, 24 } },                                /* Close */
		{ 0x04, 67, 2, { 12, 16 } },                                /* Read */
		{ 0x04, 68, 3, { 20, 32 } },                                /* Write */
		{ 0x04, 74, 3, { 16, 32 } },                                /* QueryInfo */
		{ 0x04, 72, 3, { 12, 24 } },                                /* DirEnum */
		{ 0x04, 76, 3, { 0xff, 0xff } },                            /* OperationEnd */
	};
	struct etw_payload payload;

	(void)state;
	for (size_t i = 0; i < 2 * (sizeof rows / sizeof rows[0]); i++) {
		uint32_t at = rows[i / 2].at[i % 2];
		struct etw_record record;

		etw_payload_init(&payload, i % 2 == 0 ? 4 : 8);
		for (uint32_t word = 0; word < 16; word++) {
			etw_payload_u32(&payload, 0x1000 + 4 * word);
		}
		record = kernel_record(rows[i / 2].group, rows[i / 2].opcode, rows[i / 2].version,
				       &payload);
		assert_int_equal(etw_stack_walk_thread(&record),
				 at == 0xff ? ETW_RECORD_NO_ID : 0x1000 + at);
		record.payload_size = at == 0xff ? 0 : at + 3;
		assert_int_equal(etw_stack_walk_thread(&record), ETW_RECORD_NO_ID);
		record.thread_id = 5;
		assert_int_equal(etw_stack_walk_thread(&record), 5);
		etw_payload_done(&payload);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_at_both_pointer_sizes),
		cmocka_unit_test(other_records_are_no_stacks),
		cmocka_unit_test(an_event_without_a_thread_in_its_header_may_name_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
