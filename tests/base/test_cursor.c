/* SPDX-License-Identifier: MIT */
/*
 * Reads are checked, and zero after the first overrun.
 */
#include "base/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

static const uint8_t bytes[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
				 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c };

static void integers_are_little_endian_at_any_alignment(void **state)
{
	(void)state;
	for (size_t start = 0; start < 4; start++) {
		uint8_t block[20] = { 0 };
		struct cursor c;

		memcpy(block + start, bytes, sizeof bytes);
		c = cursor_over(block + start, sizeof bytes);
		assert_int_equal(cursor_u8(&c), 0x01);
		assert_int_equal(cursor_u16(&c), 0x0302);
		assert_int_equal(cursor_u32(&c), 0x07060504);
		assert_int_equal(cursor_left(&c), 5);
		c = cursor_over(block + start, sizeof bytes);
		assert_true(cursor_u64(&c) == UINT64_C(0x0807060504030201));
	}
}

static void a_pointer_has_the_size_of_the_record(void **state)
{
	struct cursor c = cursor_over(bytes, sizeof bytes);

	(void)state;
	assert_true(cursor_pointer(&c, 4) == 0x04030201);
	assert_true(cursor_pointer(&c, 8) == UINT64_C(0x0c0b0a0908070605));
	assert_false(c.overrun);
	assert_int_equal(cursor_left(&c), 0);
}

static void after_an_overrun_everything_is_zero(void **state)
{
	(void)state;
	for (size_t size = 0; size < 8; size++) {
		uint8_t *copy = exact_copy(bytes, size);
		struct cursor c = cursor_over(copy, size);

		assert_true(cursor_u64(&c) == 0);
		assert_true(c.overrun);
		assert_int_equal(cursor_left(&c), 0);
		assert_int_equal(cursor_u8(&c), 0);
		assert_int_equal(cursor_u16(&c), 0);
		assert_int_equal(cursor_u32(&c), 0);
		assert_null(cursor_take(&c, 1));
		free(copy);
	}
}

static void a_size_that_wraps_is_an_overrun(void **state)
{
	struct cursor c = cursor_over(bytes, sizeof bytes);

	(void)state;
	cursor_skip(&c, sizeof bytes);
	assert_false(c.overrun);
	cursor_skip(&c, 0);
	assert_false(c.overrun);
	c = cursor_over(bytes, sizeof bytes);
	cursor_skip(&c, SIZE_MAX);
	assert_true(c.overrun);
	assert_ptr_equal(c.at, c.end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_little_endian_at_any_alignment),
		cmocka_unit_test(a_pointer_has_the_size_of_the_record),
		cmocka_unit_test(after_an_overrun_everything_is_zero),
		cmocka_unit_test(a_size_that_wraps_is_an_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
