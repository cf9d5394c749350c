/* SPDX-License-Identifier: MIT */
/*
 * Record headers of every type, byte by byte, checked by hand against docs/etl-format.md section 4.
 */
#include "lib/etl/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "tests/support/assert_hex.h"
#include "tests/support/in_memory.h"

static const struct etw_guid provider =
	ETW_GUID_INIT(0x01020304, 0x0506, 0x0708, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10);
static const struct etw_guid other =
	ETW_GUID_INIT(0xa1a2a3a4, 0xa5a6, 0xa7a8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0xb0);

enum { BUFFER_SIZE = 1024 };

static const struct etw_writer_options plain_options = { .processors = 4,
							 .buffer_size = BUFFER_SIZE };

static void every_header_is_laid_out_as_documented(void **state)
{
	static const uint64_t pebs = 0x1111111111111111;
	static const uint64_t counters[] = { 0x2222222222222222, 0x3333333333333333 };
	static const struct etw_out_item items[] = { { ETW_EXTENDED_PROVIDER_TRAITS, 3, "xyz" },
						     { ETW_EXTENDED_SESSION_ID, 4, "\1\0\0\0" } };
	static const struct {
		const char *name;
		struct etw_out_record record;
		const char *bytes; /* of the header; the payload follows, "abc" or its own */
	} cases[] = {
		{ "system",
		  { .type = ETW_RECORD_SYSTEM, .kernel_time = 0x31, .user_time = 0x32 },
		  "0300 02c0 2300 2a0b 1c040000 14040000 0807060504030201 31000000 32000000" },
		{ "32-bit system",
		  { .type = ETW_RECORD_SYSTEM, .pointer_size = 4 },
		  "0300 01c0 2300 2a0b 1c040000 14040000 0807060504030201 00000000 00000000" },
		{ "compact",
		  { .type = ETW_RECORD_COMPACT },
		  "0300 04c0 1b00 2a0b 1c040000 14040000 0807060504030201" },
		{ "32-bit compact",
		  { .type = ETW_RECORD_COMPACT, .pointer_size = 4 },
		  "0300 03c0 1b00 2a0b 1c040000 14040000 0807060504030201" },
		{ "perfinfo",
		  { .type = ETW_RECORD_PERFINFO },
		  "0300 11c0 1300 2a0b 0807060504030201" },
		{ "32-bit perfinfo",
		  { .type = ETW_RECORD_PERFINFO, .pointer_size = 4 },
		  "0300 10c0 1300 2a0b 0807060504030201" },
		{ "perfinfo with extras",
		  { .type = ETW_RECORD_PERFINFO,
		    .pebs_index = &pebs,
		    .counters = counters,
		    .counter_count = 2 },
		  "0382 11c0 2b00 2a0b 0807060504030201 1111111111111111 2222222222222222 3333333333333333" },
		{ "system with extras",
		  { .type = ETW_RECORD_SYSTEM, .counters = counters, .counter_count = 1 },
		  "0301 02c0 2b00 2a0b 1c040000 14040000 0807060504030201 00000000 00000000 2222222222222222" },
		{ "event",
		  { .type = ETW_RECORD_EVENT,
		    .id = 0x1234,
		    .channel = 16,
		    .level = 4,
		    .task = 0x99,
		    .keyword = UINT64_C(0x8000000000000010),
		    .property = 2,
		    .flags = 0x100,
		    .kernel_time = 0x31,
		    .user_time = 0x32,
		    .activity = &other },
		  "5300 13c0 0001 0200 1c040000 14040000 0807060504030201 040302010605080709 0a0b0c0d0e0f10"
		  "3412 03 10 04 2a 9900 1000000000000080 31000000 32000000 a4a3a2a1a6a5a8a7a9aaabacadaeafb0" },
		{ "32-bit event with extended items",
		  { .type = ETW_RECORD_EVENT, .pointer_size = 4, .items = items, .item_count = 2 },
		  "7300 12c0 0100 0000 1c040000 14040000 0807060504030201 040302010605080709 0a0b0c0d0e0f10"
		  "0000 03 00 00 2a 0000 0000000000000000 00000000 00000000 00000000000000000000000000000000"
		  "1000 0c00 0100 0300 78797a0000000000 1000 0300 0000 0400 0100000000000000" },
		{ "full",
		  { .type = ETW_RECORD_FULL, .level = 5, .kernel_time = 0x31, .user_time = 0x32 },
		  "3300 14c0 2a 05 0300 1c040000 14040000 0807060504030201 0403020106050807090a0b0c0d0e0f10 31000000 32000000" },
		{ "32-bit full",
		  { .type = ETW_RECORD_FULL, .pointer_size = 4 },
		  "3300 0ac0 2a 00 0300 1c040000 14040000 0807060504030201 0403020106050807090a0b0c0d0e0f10 00000000 00000000" },
		{ "instance",
		  { .type = ETW_RECORD_INSTANCE,
		    .instance_id = 0x41,
		    .parent_instance_id = 0x42,
		    .activity = &other },
		  "4b00 15c0 2a 00 0300 1c040000 14040000 0807060504030201 0403020106050807090a0b0c0d0e0f10 00000000 00000000"
		  "41000000 42000000 a4a3a2a1a6a5a8a7a9aaabacadaeafb0" },
		{ "message with everything",
		  { .type = ETW_RECORD_MESSAGE, .id = 0x77, .flags = 0x2b, .sequence = 0x55 },
		  "2f00 0090 7700 2b00 55000000 0403020106050807090a0b0c0d0e0f10 0807060504030201 1c040000 14040000" },
		{ "message of a component",
		  { .type = ETW_RECORD_MESSAGE, .id = 0x77, .flags = 0x04, .component = 0x66 },
		  "0f00 0090 7700 0400 66000000" },
		{ "timed",
		  { .type = ETW_RECORD_TIMED, .payload = "abcd", .payload_size = 4 },
		  "0800 0cc0" },
		{ "error",
		  { .type = ETW_RECORD_ERROR, .payload = "abcd", .payload_size = 4 },
		  "0800 0dc0" },
		{ "of a type that is unknown",
		  { .type = ETW_RECORD_UNKNOWN, .payload = "abcd", .payload_size = 4 },
		  "0800 7fc0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_writer *writer = open_in_memory(&plain_options);
		struct etw_out_record record = cases[i].record;
		/* A record has 8 bytes or more (docs/etl-format.md section 3). */
		char bytes[600];
		size_t size;
		const uint8_t *b;

		print_message("  %s\n", cases[i].name);
		record.processor = 3;
		record.raw_time = 0x0102030405060708;
		record.process_id = 1044;
		record.thread_id = 1052;
		record.group = 0x0b;
		record.opcode = 0x2a;
		record.version = 3;
		record.provider = &provider;
		if (!record.payload) {
			record.payload = "abc";
			record.payload_size = 3;
		}
		etw_writer_add(writer, &record);
		b = finish_in_memory(writer, &size) + 1024;
		snprintf(bytes, sizeof bytes, "%s 616263%s", cases[i].bytes,
			 record.payload_size == 4 ? "64" : "");
		size = etw_load_u16(b + 0x48 + (record.type <= ETW_RECORD_PERFINFO ? 4 : 0));
		assert_hex(b + 0x48, size, bytes);
		assert_int_equal(etw_load_u32(b + 0x30), 0x48 + (size + 7) / 8 * 8);
		etw_writer_close(writer);
	}
}

static void a_record_is_copied_unchanged(void **state)
{
	static const uint8_t raw[] = { 0x13, 0x00, 0x11, 0xc0, 0x13, 0x00, 0x2e, 0x0f, 0x08, 7,
				       6,    5,    4,    3,    2,    1,    'x',  'y',  'z' };
	struct etw_writer *writer = open_in_memory(&plain_options);
	size_t size;
	const uint8_t *b;

	(void)state;
	etl_writer_add_raw(writer, 2, INT64_C(0x0102030405060708), raw, sizeof raw);
	b = finish_in_memory(writer, &size) + 1024;
	assert_int_equal(etw_load_u16(b + 0x28), 2);
	assert_true(etw_load_u64(b + 0x10) == UINT64_C(0x0102030405060708));
	assert_memory_equal(b + 0x48, raw, sizeof raw);
	assert_int_equal(etw_load_u32(b + 0x30), 0x48 + 24);
	etw_writer_close(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_header_is_laid_out_as_documented),
		cmocka_unit_test(a_record_is_copied_unchanged),
	};

	return cmocka_run_group_tests_name("etl_out_record", tests, NULL, NULL);
}
