/* SPDX-License-Identifier: MIT */
/*
 * Every type of record header, with what can be in it.
 */
#include <etw/kernel.h>
#include <etw/mirror.h>

#include "lib/etl/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/etl/writer.h"
#include "tests/support/record_bytes.h"

static const struct etw_guid disk_io =
	ETW_GUID_INIT(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);
static const struct etw_guid zero_guid;

static void kernel_headers_of_every_type_are_read(void **state)
{
	static const struct {
		uint8_t type;
		enum etw_record_type record_type;
		uint8_t pointer_size;
		bool has_ids;
	} cases[] = {
		{ 0x01, ETW_RECORD_SYSTEM, 4, true },    { 0x02, ETW_RECORD_SYSTEM, 8, true },
		{ 0x03, ETW_RECORD_COMPACT, 4, true },   { 0x04, ETW_RECORD_COMPACT, 8, true },
		{ 0x10, ETW_RECORD_PERFINFO, 4, false }, { 0x11, ETW_RECORD_PERFINFO, 8, false },
	};
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct record_bytes *b = bytes_new();
		struct etl_walk walk;
		uint8_t *copy;

		bytes_kernel(b, cases[i].type, 3, 10, 0x01);
		bytes_text(b, "payload");
		bytes_end(b, 4);
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.type, cases[i].record_type);
		assert_int_equal(walk.record.pointer_size, cases[i].pointer_size);
		assert_true(walk.record.classic);
		assert_int_equal(walk.record.kernel_group, 0x01);
		assert_true(etw_guid_equal(walk.record.provider, &disk_io));
		assert_int_equal(walk.record.opcode, 10);
		assert_int_equal(walk.record.version, 3);
		assert_int_equal(walk.record.id, 0);
		assert_int_equal(walk.record.level, 0);
		assert_int_equal(walk.record.thread_id,
				 cases[i].has_ids ? 0x1111 : ETW_RECORD_NO_ID);
		assert_int_equal(walk.record.process_id,
				 cases[i].has_ids ? 0x2222 : ETW_RECORD_NO_ID);
		assert_int_equal(walk.record.raw_time, 1007);
		assert_int_equal(walk.record.time, 51000);
		assert_int_equal(walk.record.processor, 3);
		assert_int_equal(walk.record.index, 100);
		assert_null(walk.record.activity);
		assert_null(walk.record.extended);
		assert_int_equal(walk.record.payload_size, 7);
		assert_memory_equal(walk.record.payload, "payload", 7);
		assert_false(etl_walk_next(&walk));
		assert_null(walk.stopped);
		free(copy);
		free(b);
	}
}

/* Headers that have CPU times give them, all others say that they have none. */
static void cpu_times_are_those_of_the_header(void **state)
{
	enum { PRIVATE = 0x0002, NO_CPU_TIMES = 0x0010 };
	static const struct {
		enum etw_record_type type;
		uint16_t flags;
		bool has_times;
	} cases[] = {
		{ ETW_RECORD_SYSTEM, 0, true },       { ETW_RECORD_COMPACT, 0, false },
		{ ETW_RECORD_PERFINFO, 0, false },    { ETW_RECORD_FULL, 0, true },
		{ ETW_RECORD_INSTANCE, 0, false },    { ETW_RECORD_EVENT, 0, true },
		{ ETW_RECORD_EVENT, PRIVATE, false }, { ETW_RECORD_EVENT, NO_CPU_TIMES, false },
		{ ETW_RECORD_MESSAGE, 0, false },
	};
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_out_record record = { .type = cases[i].type,
						       .pointer_size = 8,
						       .flags = cases[i].flags,
						       .kernel_time = 0x31,
						       .user_time = 0x32,
						       .provider = &disk_io,
						       .raw_time = 1007 };
		size_t size = etw_out_record_size(&record);
		struct record_bytes *b = bytes_new();
		struct etl_walk walk;
		uint8_t *copy;

		etl_out_record_store(&record, 8, b->data + b->size);
		b->size += size;
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.type, cases[i].type);
		assert_true(walk.record.cpu_times == (cases[i].has_times ?
							      UINT64_C(0x32) << 32 | 0x31 :
							      ETW_RECORD_NO_CPU_TIMES));
		free(copy);
		free(b);
	}
}

static void extras_of_the_version_word_precede_the_payload(void **state)
{
	static const struct {
		uint16_t version;
		unsigned extras;
	} cases[] = { { 0x0003, 0 },  { 0x8003, 8 },  { 0x0103, 8 }, { 0x0703, 56 },
		      { 0x8203, 24 }, { 0x8703, 64 }, { 0x7803, 0 } };
	static const uint8_t types[] = { 0x02, 0x04, 0x11 };
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t t = 0; t < sizeof types; t++) {
			struct record_bytes *b = bytes_new();
			struct etl_walk walk;
			uint8_t *copy;

			bytes_kernel(b, types[t], cases[i].version, 10, 0x01);
			for (unsigned j = 0; j < cases[i].extras; j++) {
				bytes_put(b, 0xaa, 1);
			}
			bytes_text(b, "xyz");
			bytes_end(b, 4);
			copy = bytes_walk(&walk, b, &format);
			assert_true(etl_walk_next(&walk));
			assert_int_equal(walk.record.version, 3);
			assert_int_equal(walk.record.payload_size, 3);
			assert_memory_equal(walk.record.payload, "xyz", 3);
			free(copy);
			if (cases[i].extras > 0) { /* a record too short for its extras */
				b->size -= 4;
				bytes_end(b, 4);
				copy = bytes_walk(&walk, b, &format);
				assert_false(etl_walk_next(&walk));
				assert_non_null(walk.stopped);
				free(copy);
			}
			free(b);
		}
	}
}

static void opcode_10_of_the_process_group_is_an_image_load(void **state)
{
	struct etl_format format = bytes_format(8, 0);
	struct record_bytes *b = bytes_new();
	struct etl_walk walk;
	uint8_t *copy;

	(void)state;
	bytes_kernel(b, 0x02, 2, 10, 0x03);
	bytes_end(b, 4);
	bytes_kernel(b, 0x02, 2, 1, 0x03);
	bytes_end(b, 4);
	bytes_kernel(b, 0x02, 2, 1, 0x1f);
	bytes_end(b, 4);
	copy = bytes_walk(&walk, b, &format);
	assert_true(etl_walk_next(&walk));
	assert_true(etw_guid_equal(walk.record.provider, &bytes_activity));
	assert_int_equal(walk.record.kernel_group, 0x03);
	assert_true(etl_walk_next(&walk));
	assert_true(etw_guid_equal(walk.record.provider, etw_kernel_group_guid(0x03)));
	assert_true(etl_walk_next(&walk));
	assert_true(etw_guid_equal(walk.record.provider, &zero_guid));
	assert_int_equal(walk.record.index, 102);
	free(copy);
	free(b);
}

static void classic_headers_are_read(void **state)
{
	static const struct {
		uint8_t type;
		enum etw_record_type record_type;
		uint8_t pointer_size;
		unsigned rest; /* of the header */
	} cases[] = {
		{ 0x0a, ETW_RECORD_FULL, 4, 0 },      { 0x14, ETW_RECORD_FULL, 8, 0 },
		{ 0x0b, ETW_RECORD_INSTANCE, 4, 24 }, { 0x15, ETW_RECORD_INSTANCE, 8, 24 },
		{ 0x15, ETW_RECORD_INSTANCE, 8, 8 },
	};
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct record_bytes *b = bytes_new();
		struct etl_walk walk;
		uint8_t *copy;

		bytes_classic(b, cases[i].type);
		bytes_put(b, 0, cases[i].rest);
		bytes_text(b, "abc");
		bytes_end(b, 0);
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.type, cases[i].record_type);
		assert_int_equal(walk.record.pointer_size, cases[i].pointer_size);
		assert_true(walk.record.classic);
		assert_int_equal(walk.record.kernel_group, 0xff);
		assert_true(etw_guid_equal(walk.record.provider, &bytes_provider));
		assert_int_equal(walk.record.opcode, 9);
		assert_int_equal(walk.record.level, 3);
		assert_int_equal(walk.record.version, 2);
		assert_int_equal(walk.record.thread_id, 0x1111);
		assert_int_equal(walk.record.process_id, 0x2222);
		assert_int_equal(walk.record.time, 51000);
		assert_int_equal(walk.record.payload_size, 3);
		assert_memory_equal(walk.record.payload, "abc", 3);
		free(copy);
		free(b);
	}
}

static void event_headers_are_read(void **state)
{
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (int classic = 0; classic < 2; classic++) {
		for (uint8_t type = 0x12; type <= 0x13; type++) {
			struct record_bytes *b = bytes_new();
			struct etl_walk walk;
			uint8_t *copy;

			bytes_event(b, type, classic ? 0x0100 : 0);
			bytes_text(b, "abc");
			bytes_end(b, 0);
			copy = bytes_walk(&walk, b, &format);
			assert_true(etl_walk_next(&walk));
			assert_int_equal(walk.record.type, ETW_RECORD_EVENT);
			assert_int_equal(walk.record.pointer_size, type == 0x12 ? 4 : 8);
			assert_int_equal(walk.record.classic, classic);
			assert_int_equal(walk.record.kernel_group, 0xff);
			assert_true(etw_guid_equal(walk.record.provider, &bytes_provider));
			assert_int_equal(walk.record.id, 0xfffe);
			assert_int_equal(walk.record.version, 5);
			assert_int_equal(walk.record.channel, 11);
			assert_int_equal(walk.record.level, 4);
			assert_int_equal(walk.record.opcode, 240);
			assert_int_equal(walk.record.task, 0x1234);
			assert_true(walk.record.keyword == UINT64_C(0x8000000000000012));
			assert_int_equal(walk.record.thread_id, 0x1111);
			assert_int_equal(walk.record.process_id, 0x2222);
			assert_int_equal(walk.record.time, 51000);
			assert_true(etw_guid_equal(walk.record.activity, &bytes_activity));
			assert_null(walk.record.extended);
			assert_int_equal(walk.record.payload_size, 3);
			assert_memory_equal(walk.record.payload, "abc", 3);
			free(copy);
			free(b);
		}
	}
}

static void extended_items_precede_the_payload(void **state)
{
	struct etl_format format = bytes_format(8, 0);
	struct record_bytes *b = bytes_new();
	struct etw_extended_item found;
	struct etl_walk walk;
	uint32_t offset = 0;
	uint8_t *copy;

	(void)state;
	bytes_event(b, 0x13, 0x0001);
	bytes_item(b, 24, ETW_EXTENDED_RELATED_ACTIVITY, 1, 16);
	bytes_guid(b, &bytes_activity);
	bytes_item(b, 8, 99, 0xffff, 0);
	bytes_item(b, 24, ETW_EXTENDED_STACK64, 2, 13);
	bytes_text(b, "0123456789abcPAD");
	bytes_text(b, "the payload");
	bytes_end(b, 0);
	copy = bytes_walk(&walk, b, &format);
	assert_true(etl_walk_next(&walk));
	assert_int_equal(walk.record.extended_size, 56);
	assert_int_equal(walk.record.payload_size, 11);
	assert_memory_equal(walk.record.payload, "the payload", 11);
	assert_true(etw_record_next_extended(&walk.record, &offset, &found));
	assert_int_equal(found.type, ETW_EXTENDED_RELATED_ACTIVITY);
	assert_int_equal(found.size, 16);
	assert_memory_equal(found.data, bytes_activity.bytes, 16);
	assert_true(etw_record_next_extended(&walk.record, &offset, &found));
	assert_int_equal(found.type, 99);
	assert_int_equal(found.size, 0);
	assert_true(etw_record_next_extended(&walk.record, &offset, &found));
	assert_int_equal(found.type, ETW_EXTENDED_STACK64);
	assert_false(etw_record_next_extended(&walk.record, &offset, &found));
	assert_true(etw_record_find_extended(&walk.record, ETW_EXTENDED_STACK64, &found));
	assert_int_equal(found.size, 13);
	assert_memory_equal(found.data, "0123456789abc", 13);
	assert_false(etw_record_find_extended(&walk.record, ETW_EXTENDED_SID, &found));
	assert_int_equal(walk.bad_items, 0);
	free(copy);
	free(b);
}

static void a_message_has_the_parts_that_its_flags_name(void **state)
{
	struct etl_format format = bytes_format(8, 0);
	static const struct etw_guid component =
		ETW_GUID_INIT(0x1234, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

	(void)state;
	for (unsigned flags = 0; flags < 256; flags++) {
		struct record_bytes *b = bytes_new();
		bool timed = flags & 0x18;
		struct etl_walk walk;
		uint8_t *copy;

		bytes_begin(b);
		bytes_put(b, 0, 2);
		bytes_put(b, 0x9000, 2);
		bytes_put(b, 42, 2);
		bytes_put(b, flags, 2);
		if (flags & 0x01) {
			bytes_put(b, 99, 4);
		}
		if (flags & 0x02) {
			bytes_guid(b, &bytes_provider);
		} else if (flags & 0x04) {
			bytes_put(b, 0x1234, 4);
		}
		if (timed) {
			bytes_put(b, 1007, 8);
		}
		if (flags & 0x20) {
			bytes_put(b, 0x1111, 4);
			bytes_put(b, 0x2222, 4);
		}
		bytes_text(b, "wpp");
		bytes_end(b, 0);
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.type, ETW_RECORD_MESSAGE);
		assert_int_equal(walk.record.id, 42);
		assert_true(etw_guid_equal(walk.record.provider, flags & 0x02 ? &bytes_provider :
								 flags & 0x04 ? &component :
										&zero_guid));
		assert_true(walk.record.raw_time == (timed ? 1007 : ETW_RECORD_NO_TIME));
		assert_true(walk.record.time == (timed ? 51000 : ETW_RECORD_NO_TIME));
		assert_int_equal(walk.record.thread_id, flags & 0x20 ? 0x1111 : ETW_RECORD_NO_ID);
		assert_int_equal(walk.record.process_id, flags & 0x20 ? 0x2222 : ETW_RECORD_NO_ID);
		assert_int_equal(walk.record.pointer_size, flags & 0x40 ? 4 : 8);
		assert_int_equal(walk.record.payload_size, 3);
		assert_memory_equal(walk.record.payload, "wpp", 3);
		free(copy);
		if (flags & 0x3f) { /* a message too short for its parts */
			b->size = b->record + 9;
			bytes_end(b, 0);
			copy = bytes_walk(&walk, b, &format);
			assert_false(etl_walk_next(&walk));
			assert_non_null(walk.stopped);
			free(copy);
		}
		free(b);
	}
}

static void record_types_that_are_not_read_are_delivered_by_size(void **state)
{
	static const struct {
		uint8_t type;
		enum etw_record_type record_type;
	} cases[] = {
		{ 0x0c, ETW_RECORD_TIMED },   { 0x0d, ETW_RECORD_ERROR },
		{ 0x0e, ETW_RECORD_WNODE },   { 0x0f, ETW_RECORD_MESSAGE_TYPED },
		{ 0x00, ETW_RECORD_UNKNOWN }, { 0x16, ETW_RECORD_UNKNOWN },
		{ 0xff, ETW_RECORD_UNKNOWN },
	};
	struct etl_format format = bytes_format(4, 0);
	struct record_bytes *b = bytes_new();
	struct etl_walk walk;
	uint8_t *copy;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bytes_begin(b);
		bytes_put(b, 0, 2);
		bytes_put(b, cases[i].type, 1);
		bytes_put(b, 0xc0, 1);
		bytes_put(b, 1, 4);
		bytes_text(b, "12345");
		bytes_end(b, 0);
	}
	copy = bytes_walk(&walk, b, &format);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.type, cases[i].record_type);
		assert_int_equal(walk.record.pointer_size, 4);
		assert_true(walk.record.raw_time == ETW_RECORD_NO_TIME);
		assert_true(etw_guid_equal(walk.record.provider, &zero_guid));
		assert_int_equal(walk.record.process_id, ETW_RECORD_NO_ID);
		assert_int_equal(walk.record.payload_size, 5);
		assert_int_equal(walk.record.index, 100 + i);
	}
	assert_false(etl_walk_next(&walk));
	free(copy);
	free(b);
}

static void an_override_of_the_pointer_size_is_for_classic_payloads(void **state)
{
	struct etl_format format = bytes_format(4, 8);
	struct record_bytes *b = bytes_new();
	struct etl_walk walk;
	uint8_t *copy;
	static const uint8_t expected[] = { 8, 8, 4, 8, 4 };

	(void)state;
	bytes_kernel(b, 0x01, 2, 1, 3);
	bytes_end(b, 4);
	bytes_classic(b, 0x0a);
	bytes_end(b, 0);
	bytes_event(b, 0x12, 0);
	bytes_end(b, 0);
	bytes_event(b, 0x12, 0x0100);
	bytes_end(b, 0);
	bytes_begin(b);
	bytes_put(b, UINT64_C(0x90000008), 8); /* a message */
	copy = bytes_walk(&walk, b, &format);
	for (size_t i = 0; i < sizeof expected; i++) {
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.pointer_size, expected[i]);
	}
	free(copy);
	free(b);
}

/* EVENT_HEADER_FLAG_STRING_ONLY, evntcons.h. */
static void an_event_whose_payload_is_a_text_has_a_type_of_its_own(void **state)
{
	static const struct {
		uint16_t flags;
		enum etw_record_type type;
		bool classic;
	} cases[] = {
		{ 0x0004, ETW_RECORD_STRING, false },
		{ 0x0005, ETW_RECORD_STRING, false }, /* with an extended item */
		{ 0x0006, ETW_RECORD_STRING, false },
		{ 0x0002, ETW_RECORD_EVENT, false },
		{ 0x0104, ETW_RECORD_EVENT, true }, /* of a MOF class, which has no texts alone */
		{ 0x0000, ETW_RECORD_EVENT, false },
	};
	struct etl_format format = bytes_format(8, 0);
	struct record_bytes *b = bytes_new();
	struct etl_walk walk;
	uint8_t *copy;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bytes_event(b, 0x13, cases[i].flags);
		if (cases[i].flags & 1) {
			bytes_item(b, 8, 1, 0, 0);
		}
		bytes_text(b, "a");
		bytes_end(b, 0);
	}
	copy = bytes_walk(&walk, b, &format);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.type, cases[i].type);
		assert_int_equal(walk.record.classic, cases[i].classic);
		assert_int_equal(walk.record.payload_size, 1);
		assert_int_equal(walk.record.payload[0], 'a');
	}
	free(copy);
	free(b);
}

static void a_record_has_nothing_of_the_one_before_it(void **state)
{
	/* After an event, which has all members, with an extended item. */
	static const uint8_t types[] = { 0x02, 0x04, 0x11, 0x14, 0x15, 0x0d };
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		bool kernel = i < 3, classic = i == 3 || i == 4;
		struct record_bytes *b = bytes_new();
		struct etl_walk walk;
		uint8_t *copy;

		bytes_event(b, 0x13, 0x0001);
		bytes_item(b, 8, 1, 0, 0);
		bytes_text(b, "abc");
		bytes_end(b, 0);
		if (classic) {
			bytes_classic(b, types[i]);
		} else {
			bytes_kernel(b, types[i], 2, 46, 0x0f);
		}
		bytes_put(b, 0, 8);
		bytes_end(b, kernel ? 4 : 0);
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_non_null(walk.record.extended);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.record.classic, kernel || classic);
		assert_int_equal(walk.record.id, 0);
		assert_int_equal(walk.record.task, 0);
		assert_int_equal(walk.record.channel, 0);
		assert_true(walk.record.keyword == 0);
		assert_null(walk.record.activity);
		assert_null(walk.record.extended);
		assert_int_equal(walk.record.extended_size, 0);
		assert_int_equal(walk.record.index, 101);
		free(copy);
		free(b);
	}
}

static void a_walk_can_go_back_to_a_record(void **state)
{
	struct etl_format format = bytes_format(8, 0);
	struct record_bytes *b = bytes_new();
	struct etl_walk walk;
	uint8_t *copy;

	(void)state;
	bytes_kernel(b, 0x11, 2, 46, 0x0f);
	bytes_end(b, 4);
	bytes_kernel(b, 0x11, 2, 47, 0x0f);
	bytes_end(b, 4);
	copy = bytes_walk(&walk, b, &format);
	assert_true(etl_walk_seek(&walk, 88, 101));
	assert_int_equal(walk.record.opcode, 47);
	assert_int_equal(walk.record.index, 101);
	assert_true(etl_walk_seek(&walk, 72, 100));
	assert_int_equal(walk.record.opcode, 46);
	assert_int_equal(walk.record.index, 100);
	free(copy);
	free(b);
}

static void record_types_have_the_names_of_the_summaries(void **state)
{
	(void)state;
	assert_string_equal(etw_record_type_name(ETW_RECORD_SYSTEM), "system");
	assert_string_equal(etw_record_type_name(ETW_RECORD_PERFINFO), "perfinfo");
	assert_string_equal(etw_record_type_name(ETW_RECORD_ERROR), "error");
	for (unsigned record_type = 0; record_type < ETW_RECORD_TYPE_COUNT; record_type++) {
		assert_non_null(etw_record_type_name((enum etw_record_type)record_type));
	}
	assert_string_equal(etw_record_type_name(ETW_RECORD_TYPE_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_headers_of_every_type_are_read),
		cmocka_unit_test(cpu_times_are_those_of_the_header),
		cmocka_unit_test(extras_of_the_version_word_precede_the_payload),
		cmocka_unit_test(opcode_10_of_the_process_group_is_an_image_load),
		cmocka_unit_test(classic_headers_are_read),
		cmocka_unit_test(event_headers_are_read),
		cmocka_unit_test(extended_items_precede_the_payload),
		cmocka_unit_test(a_message_has_the_parts_that_its_flags_name),
		cmocka_unit_test(record_types_that_are_not_read_are_delivered_by_size),
		cmocka_unit_test(an_override_of_the_pointer_size_is_for_classic_payloads),
		cmocka_unit_test(an_event_whose_payload_is_a_text_has_a_type_of_its_own),
		cmocka_unit_test(a_record_has_nothing_of_the_one_before_it),
		cmocka_unit_test(a_walk_can_go_back_to_a_record),
		cmocka_unit_test(record_types_have_the_names_of_the_summaries),
	};

	return cmocka_run_group_tests_name("etl_record", tests, NULL, NULL);
}
