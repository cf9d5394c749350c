/* SPDX-License-Identifier: MIT */
/*
 * Records that make no sense: nothing outside the buffer is read, nothing is lost silently, every
 * walk ends.
 */
#include "lib/etl/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/record_bytes.h"

static void bad_extended_items_cost_the_payload_only(void **state)
{
	static const struct {
		const char *name;
		uint16_t size, linkage, data_size;
		unsigned bytes; /* of the item that are there */
	} cases[] = {
		{ "no item", 0, 0, 0, 0 },
		{ "half a header", 8, 0, 0, 4 },
		{ "size 0", 0, 0, 0, 16 },
		{ "size below the header", 4, 0, 0, 16 },
		{ "size no multiple of 8", 12, 0, 4, 16 },
		{ "size beyond the record", 24, 0, 4, 16 },
		{ "largest size", 0xfff8, 0, 4, 16 },
		{ "data beyond the item", 16, 0, 9, 16 },
		{ "most data", 16, 0, 0xffff, 16 },
		{ "a next item that is not there", 16, 1, 8, 16 },
	};
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct record_bytes *b = bytes_new();
		struct etw_extended_item found;
		struct etl_walk walk;
		uint32_t offset = 0;
		uint8_t *copy;

		print_message("  %s\n", cases[i].name);
		bytes_event(b, 0x13, 0x0001);
		bytes_item(b, 16, 77, 1, 8);
		bytes_put(b, 5, 8);
		bytes_item(b, cases[i].size, 78, cases[i].linkage, cases[i].data_size);
		bytes_put(b, 0, 8);
		b->size = b->size - 16 + cases[i].bytes;
		bytes_end(b, 0);
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_int_equal(walk.bad_items, 1);
		assert_int_equal(walk.bad_items_at, 72);
		assert_int_equal(walk.record.payload_size, 0);
		assert_non_null(walk.record.payload);
		assert_true(etw_record_next_extended(&walk.record, &offset, &found));
		assert_int_equal(found.type, 77);
		assert_false(etl_walk_next(&walk));
		assert_null(walk.stopped);
		free(copy);
		free(b);
	}
}

static void a_record_without_good_items_has_none(void **state)
{
	struct etl_format format = bytes_format(8, 0);
	struct record_bytes *b = bytes_new();
	struct etw_extended_item found;
	struct etl_walk walk;
	uint32_t offset = 0;
	uint8_t *copy;

	(void)state;
	bytes_event(b, 0x13, 0x0001);
	bytes_end(b, 0);
	copy = bytes_walk(&walk, b, &format);
	assert_true(etl_walk_next(&walk));
	assert_int_equal(walk.bad_items, 1);
	assert_false(etw_record_next_extended(&walk.record, &offset, &found));
	free(copy);
	free(b);
}

/* As a sector that was never written. What is behind a buffer's end is no part of the walk. */
static void filler_before_the_end_stops_the_walk(void **state)
{
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (int ones = 0; ones < 2; ones++) {
		struct record_bytes *b = bytes_new();
		struct etl_walk walk;
		uint8_t *copy;

		bytes_kernel(b, 0x11, 2, 46, 0x0f);
		bytes_end(b, 4);
		bytes_begin(b);
		bytes_put(b, ones ? UINT64_MAX : 0, 8);
		bytes_kernel(b, 0x11, 2, 46, 0x0f);
		bytes_end(b, 4);
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_false(etl_walk_next(&walk));
		assert_non_null(walk.stopped);
		free(copy);
		free(b);
	}
}

static void a_record_that_makes_no_sense_stops_the_walk(void **state)
{
	static const struct {
		const char *name;
		uint64_t start; /* first 8 bytes of the record, 100 bytes in all */
	} cases[] = {
		{ "system: size 0", UINT64_C(0x030a0000c0020002) },
		{ "system: size below the header", UINT64_C(0x030a001fc0020002) },
		{ "system: size beyond the end", UINT64_C(0x030a0065c0020002) },
		{ "system: largest size", UINT64_C(0x030affffc0020002) },
		{ "compact: size below the header", UINT64_C(0x030a0017c0040002) },
		{ "perfinfo: size 0", UINT64_C(0x030a0000c0110002) },
		{ "perfinfo: size below the header", UINT64_C(0x030a000fc0110002) },
		{ "full: size 0", UINT64_C(0x00000000c0140000) },
		{ "full: size below the header", UINT64_C(0x00000000c014002f) },
		{ "full: largest size", UINT64_C(0x00000000c014ffff) },
		{ "instance: size below the header", UINT64_C(0x00000000c0150037) },
		{ "event: size 0", UINT64_C(0x00000000c0130000) },
		{ "event: size below the header", UINT64_C(0x00000000c013004f) },
		{ "event: size beyond the end", UINT64_C(0x00000000c0130065) },
		{ "message: size 0", UINT64_C(0x0000000090000000) },
		{ "message: size below the header", UINT64_C(0x0000000090000007) },
		{ "message: size beyond the end", UINT64_C(0x0000000090000065) },
		{ "error: size below the header", UINT64_C(0x00000000c00d0007) },
		{ "unknown type: size 0", UINT64_C(0x00000000c0550000) },
		{ "unknown marker", UINT64_C(0x0000000012345678) },
	};
	struct etl_format format = bytes_format(8, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct record_bytes *b = bytes_new();
		struct etl_walk walk;
		uint8_t *copy;

		print_message("  %s\n", cases[i].name);
		bytes_kernel(b, 0x11, 2, 46, 0x0f);
		bytes_end(b, 4);
		bytes_begin(b);
		bytes_put(b, cases[i].start, 8);
		b->size += 92;
		copy = bytes_walk(&walk, b, &format);
		assert_true(etl_walk_next(&walk));
		assert_false(etl_walk_next(&walk));
		assert_non_null(walk.stopped);
		assert_int_equal(walk.stopped_at, 88);
		assert_false(etl_walk_next(&walk));
		assert_int_equal(etl_walk_next_index(&walk), 101);
		free(copy);
		free(b);
	}
}

static void headers_of_chance_stay_inside(void **state)
{
	struct etl_format format = bytes_format(8, 0);
	uint64_t chance = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct record_bytes *b = bytes_new();
		struct etw_extended_item found;
		struct etl_walk walk;
		uint32_t last = 0;
		uint8_t *copy;

		for (unsigned i = 0; i < 40; i++) {
			chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
			bytes_put(b,
				  i % 4 == 0 ? (chance >> 40 & 0x001f003f) | 0xc0000000 :
					       chance >> 33,
				  4);
		}
		b->size -= round % 8;
		copy = bytes_walk(&walk, b, &format);
		while (etl_walk_next(&walk)) {
			uint32_t offset = 0;
			unsigned sum = 0;

			for (uint32_t i = 0; i < walk.record.payload_size; i++) {
				sum += walk.record.payload[i];
			}
			while (etw_record_next_extended(&walk.record, &offset, &found)) {
				sum += found.size ? found.data[found.size - 1] : 0;
			}
			assert_true(sum < 1 << 20);
			assert_true(walk.at > last);
			last = walk.at;
		}
		free(copy);
		free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_extended_items_cost_the_payload_only),
		cmocka_unit_test(a_record_without_good_items_has_none),
		cmocka_unit_test(filler_before_the_end_stops_the_walk),
		cmocka_unit_test(a_record_that_makes_no_sense_stops_the_walk),
		cmocka_unit_test(headers_of_chance_stay_inside),
	};

	return cmocka_run_group_tests_name("etl_record_damage", tests, NULL, NULL);
}
