/* SPDX-License-Identifier: MIT */
/*
 * Names of values: exact ones, bits, values that no name fits.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/decode/schema.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void assert_named(const struct etw_value_map *map, uint64_t value, const char *name)
{
	struct etw_text text = { 0 };
	bool named = value_map_text(map, value, &text);

	assert_int_equal(named, name != NULL);
	assert_string_equal(text.data ? text.data : "", name ? name : "");
	text_free(&text);
}

static void a_value_has_the_first_name_given_to_it(void **state)
{
	struct etw_value_name names[] = {
		{ .value = 9, .name = "nine" },         { .value = 0, .name = "none" },
		{ .value = UINT32_MAX, .name = "all" }, { .value = 9, .name = "again" },
		{ .value = 3, .name = "three" },
	};
	struct etw_value_map map = { .names = names, .count = COUNT(names) };

	(void)state;
	value_map_sort(&map);
	assert_int_equal(map.count, 4);
	assert_named(&map, 9, "nine");
	assert_named(&map, 0, "none");
	assert_named(&map, 3, "three");
	assert_named(&map, UINT32_MAX, "all");
	assert_named(&map, 4, NULL);
	assert_named(&map, UINT64_C(0x100000009), NULL);
}

static void bits_are_named_one_by_one(void **state)
{
	struct etw_value_name names[] = {
		{ .value = 0x80000000, .name = "Top" },
		{ .value = 1, .name = "Read" },
		{ .value = 6, .name = "Change" }, /* both bits or neither */
		{ .value = 0, .name = "Nothing" },
	};
	struct etw_value_map map = { .names = names, .count = COUNT(names), .bits = true };

	(void)state;
	value_map_sort(&map);
	assert_named(&map, 1, "Read");
	assert_named(&map, 0, "Nothing");
	assert_named(&map, 7, "Read|Change");
	assert_named(&map, 2, "0x2");
	assert_named(&map, 0x80000005, "Read|Top|0x4");
	assert_named(&map, UINT64_C(0xf00000001), "Read|0xf00000000");
}

static void a_map_without_names_names_nothing(void **state)
{
	struct etw_value_map values = { .names = NULL };
	struct etw_value_map bits = { .names = NULL, .bits = true };

	(void)state;
	value_map_sort(&values);
	value_map_sort(&bits);
	assert_named(&values, 0, NULL);
	assert_named(&bits, 0, NULL);
	assert_named(&bits, 5, "0x5");
}

static void a_name_leads_to_its_value(void **state)
{
	struct etw_value_name names[] = {
		{ .value = 3, .name = "three" },
		{ .value = 1, .name = "one" },
		{ .value = 8, .name = "both" },
		{ .value = 9, .name = "Both" },
	};
	struct etw_value_map map = { .names = names, .count = COUNT(names) };
	uint32_t value = 0;

	(void)state;
	value_map_sort(&map);
	assert_true(etw_value_map_value(&map, "ONE", 3, &value));
	assert_int_equal(value, 1);
	assert_true(etw_value_map_value(&map, "three", 5, &value));
	assert_int_equal(value, 3);
	assert_false(etw_value_map_value(&map, "thre", 4, &value));
	assert_false(etw_value_map_value(&map, "", 0, &value));
	assert_false(etw_value_map_value(&map, "both", 4, &value));
	assert_int_equal(value, 3);
}

/* A signed field is named by its bits, and is a signed number where it has no name. */
static void fields_read_as_their_name_or_as_a_number(void **state)
{
	static const struct {
		uint8_t type;
		const char *bytes;
		uint32_t size;
		const char *text;
	} cases[] = {
		{ ETW_FIELD_I32, "\xff\xff\xff\xff", 4, "minus one" },
		{ ETW_FIELD_I32, "\xfe\xff\xff\xff", 4, "-2" },
		{ ETW_FIELD_I8, "\xfe", 1, "-2" },
		{ ETW_FIELD_U8, "\x02", 1, "two" },
		{ ETW_FIELD_U64, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "18446744073709551615" },
		{ ETW_FIELD_I64, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "-1" },
	};
	struct etw_value_name names[] = {
		{ .value = UINT32_MAX, .name = "minus one" },
		{ .value = 2, .name = "two" },
	};
	struct etw_value_map map = { .names = names, .count = COUNT(names) };

	(void)state;
	value_map_sort(&map);
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct etw_field field = { .type = cases[i].type, .map = &map };
		const struct etw_field_slice slice = { .at = (const uint8_t *)cases[i].bytes,
						       .size = cases[i].size,
						       .count = 1 };
		struct etw_text text = { 0 };

		etw_field_text(&field, &slice, &text);
		assert_string_equal(text.data, cases[i].text);
		text_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_has_the_first_name_given_to_it),
		cmocka_unit_test(bits_are_named_one_by_one),
		cmocka_unit_test(a_map_without_names_names_nothing),
		cmocka_unit_test(a_name_leads_to_its_value),
		cmocka_unit_test(fields_read_as_their_name_or_as_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
