/* SPDX-License-Identifier: MIT */
/*
 * Packed buffers: the specification's own examples, and back through the reader's unpacking.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/etl/unpack.h"
#include "tests/support/assert_hex.h"

static void packing_gives_the_streams_of_the_specification(void **state)
{
	/* MS-XCA, section 3.1 */
	char abc[300];
	uint8_t out[400];

	(void)state;
	for (size_t i = 0; i < sizeof abc; i++) {
		abc[i] = "abc"[i % 3];
	}
	assert_hex(out, etl_compress((const uint8_t *)"abcdefghijklmnopqrstuvwxyz", 26, out),
		   "3f000000 6162636465666768696a6b6c6d6e6f707172737475767778797a");
	assert_hex(out, etl_compress((const uint8_t *)abc, sizeof abc, out),
		   "ffffff1f 616263 1700 0f ff 2601");
}

static void what_is_packed_unpacks_to_itself(void **state)
{
	static uint8_t bytes[200000], unpacked[200000];
	static uint8_t packed[200000 + 200000 / 8 + 8];
	uint32_t x = 7;

	(void)state;
	for (unsigned shape = 0; shape < 5; shape++) {
		for (size_t i = 0; i < sizeof bytes; i++) {
			x = x * 1664525 + 1013904223;
			bytes[i] = shape == 0 ? 0 :
				   shape == 1 ? (uint8_t)(x >> 24) :
				   shape == 2 ? (uint8_t)((x >> 28) & 3) :
				   shape == 3 ? (uint8_t)(i % 251) :
						(uint8_t)(i / 97 + (x >> 31));
		}
		for (size_t size = 0; size <= sizeof bytes;
		     size = size < 70 ? size + 1 : size * 3 / 2 + 1) {
			size_t packed_size = etl_compress(bytes, size, packed);
			size_t made = 0;

			assert_in_range(packed_size, 0, etl_compress_bound(size));
			assert_true(etl_decompress(packed, packed_size, unpacked, size, &made));
			assert_int_equal(made, size);
			assert_memory_equal(unpacked, bytes, size);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packing_gives_the_streams_of_the_specification),
		cmocka_unit_test(what_is_packed_unpacks_to_itself),
	};

	return cmocka_run_group_tests_name("etl_compress", tests, NULL, NULL);
}
