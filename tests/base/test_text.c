/* SPDX-License-Identifier: MIT */
/*
 * The growing buffer, comparisons without case, hashes, numbers.
 */
#include "base/decimal.h"
#include "base/text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void what_is_added_follows_what_was_there(void **state)
{
	struct etw_text text = { 0 };

	(void)state;
	text_add_string(&text, "disk");
	text_add_char(&text, '=');
	text_add(&text, "0 and more", 1);
	text_add_format(&text, " %s/%03d", "a", 7);
	text_add_char(&text, ' ');
	text_add_u64(&text, UINT64_MAX);
	text_add_char(&text, ' ');
	text_add_i64(&text, INT64_MIN);
	text_add_char(&text, ' ');
	text_add_hex(&text, (const uint8_t[]){ 0x00, 0xab, 0xff }, 3);
	assert_false(text.failed);
	assert_string_equal(text.data,
			    "disk=0 a/007 18446744073709551615 -9223372036854775808 00abff");
	assert_int_equal(text.size, strlen(text.data));
	text_free(&text);
	assert_null(text.data);
}

static void nothing_added_still_makes_a_string(void **state)
{
	struct etw_text text = { 0 };

	(void)state;
	text_add(&text, NULL, 0);
	assert_string_equal(text.data, "");
	assert_int_equal(text.size, 0);
	text_free(&text);
}

static void a_nul_byte_is_a_byte(void **state)
{
	struct etw_text text = { 0 };

	(void)state;
	text_add(&text, "a\0b", 3);
	text_add_char(&text, '\0');
	assert_int_equal(text.size, 4);
	assert_memory_equal(text.data, "a\0b\0", 5);
	text_free(&text);
}

static void the_buffer_grows_with_every_size_of_step(void **state)
{
	(void)state;
	for (size_t step = 1; step < 300; step += 7) {
		struct etw_text text = { 0 };
		char bytes[300];

		memset(bytes, 'x', sizeof bytes);
		for (size_t i = 1; i <= 100; i++) {
			text_add(&text, bytes, step);
			assert_int_equal(text.size, i * step);
			assert_true(text.capacity > text.size);
			assert_int_equal(text.data[text.size], '\0');
		}
		text_free(&text);
	}
}

static void clearing_keeps_the_memory(void **state)
{
	struct etw_text text = { 0 };
	const char *data;

	(void)state;
	text_clear(&text);
	text_add_string(&text, "first");
	data = text.data;
	text_clear(&text);
	assert_string_equal(text.data, "");
	text_add_string(&text, "2nd");
	assert_string_equal(text.data, "2nd");
	assert_ptr_equal(text.data, data);
	text_free(&text);
}

static void a_failed_buffer_stays_as_it_was_until_cleared(void **state)
{
	struct etw_text text = { 0 };

	(void)state;
	text_add_string(&text, "kept");
	text_add(&text, "", SIZE_MAX); /* no memory is that large: refused before a byte is read */
	assert_true(text.failed);
	text_add_string(&text, "x");
	text_add_u64(&text, 1);
	text_add_format(&text, "%d", 1);
	text_add_hex(&text, (const uint8_t *)"x", 1);
	assert_string_equal(text.data, "kept");
	text_clear(&text);
	text_add_string(&text, "new");
	assert_false(text.failed);
	assert_string_equal(text.data, "new");
	text_free(&text);
}

static void comparisons_ignore_ascii_case_only(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool equal, starts, ends; /* a equal to, starting with, ending in b */
	} cases[] = {
		{ "", "", true, true, true },
		{ "a", "", false, true, true },
		{ "", "a", false, false, false },
		{ "svchost.EXE", "SvcHost.exe", true, true, true },
		{ "svchost.exe", ".EXE", false, false, true },
		{ "svchost.exe", "SVC", false, true, false },
		{ "exe", "svchost.exe", false, false, false },
		{ "@[`{", "`{@[", false, false, false }, /* next to the letters */
		{ "\xc3\x84", "\xc3\xa4", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *a = cases[i].a, *b = cases[i].b;
		size_t a_size = strlen(a), b_size = strlen(b);

		print_message("  '%s' and '%s'\n", a, b);
		assert_int_equal(text_equal_nocase(a, a_size, b, b_size), cases[i].equal);
		assert_int_equal(text_starts_nocase(a, a_size, b, b_size), cases[i].starts);
		assert_int_equal(text_ends_nocase(a, a_size, b, b_size), cases[i].ends);
	}
}

/* Every size, at the end of a block: the sanitizers see a read too far. */
static void every_byte_of_every_size_counts_in_a_hash(void **state)
{
	(void)state;
	for (size_t size = 1; size <= 40; size++) {
		char *text = malloc(size);
		uint64_t hash;

		assert_non_null(text);
		for (size_t i = 0; i < size; i++) {
			text[i] = (char)('a' + i % 26);
		}
		hash = text_hash(text, size, 0);
		assert_true(hash != text_hash(text, size - 1, 0));
		assert_true(hash != text_hash(text, size, 1));
		for (size_t i = 0; i < size; i++) {
			text[i] ^= 1;
			assert_true(text_hash(text, size, 0) != hash);
			assert_true(text_hash_nocase(text, size, 0) != hash);
			text[i] ^= 1;
		}
		assert_true(text_hash(text, size, 0) == hash);
		free(text);
	}
}

static void zero_bytes_of_different_sizes_have_different_hashes(void **state)
{
	static const char zeros[64];

	(void)state;
	for (size_t size = 0; size < sizeof zeros; size++) {
		for (size_t other = 0; other < size; other++) {
			assert_true(text_hash(zeros, size, 0) != text_hash(zeros, other, 0));
		}
	}
}

static void the_hash_without_case_folds_letters_and_nothing_else(void **state)
{
	(void)state;
	for (size_t size = 1; size <= 24; size++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			char lower[24], given[24];
			bool capital = byte >= 'A' && byte <= 'Z';

			memset(given, 'Q', sizeof given);
			memset(lower, 'q', sizeof lower);
			given[size / 2] = (char)byte;
			lower[size / 2] = (char)(byte | 0x20);
			assert_int_equal(text_hash_nocase(given, size, 0) ==
						 text_hash_nocase(lower, size, 0),
					 capital || (byte & 0x20));
		}
	}
}

static void numbered_names_spread_over_a_table(void **state)
{
	enum { BUCKETS = 1024, NAMES = 8 * BUCKETS };
	static unsigned low[BUCKETS], high[BUCKETS];

	(void)state;
	for (unsigned i = 0; i < NAMES; i++) {
		char name[32];
		int size = snprintf(name, sizeof name, "\\Device\\HarddiskVolume%u", i);
		uint64_t hash = text_hash(name, (size_t)size, 0);

		low[hash % BUCKETS]++;
		high[(hash >> 32) % BUCKETS]++;
	}
	/* Eight in each on average; of a fair hash more than 30 in any is all but impossible. */
	for (size_t i = 0; i < BUCKETS; i++) {
		assert_in_range(low[i], 0, 30);
		assert_in_range(high[i], 0, 30);
	}
}

static void decimals_are_those_of_printf(void **state)
{
	uint64_t power = 1;

	(void)state;
	for (unsigned digits = 0; digits < 20; digits++) {
		const uint64_t values[] = { power - 1,         power,         power + 1,
					    power + power / 7, power / 3 * 2, 0 - power };

		for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
			char expected[24];
			char *out = malloc(20); /* all that it may use */
			size_t size;

			assert_non_null(out);
			snprintf(expected, sizeof expected, "%" PRIu64, values[i]);
			size = (size_t)(put_u64(out, values[i]) - out);
			assert_int_equal(size, strlen(expected));
			assert_memory_equal(out, expected, size);
			free(out);
		}
		power *= 10;
	}
}

static void a_copy_ends_in_nul(void **state)
{
	char *copy = text_duplicate("process", 4);
	char *empty = text_duplicate(NULL, 0);

	(void)state;
	assert_string_equal(copy, "proc");
	assert_string_equal(empty, "");
	free(copy);
	free(empty);
}

static void numbers_are_read_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *text;
		bool is_u64, is_i64;
		uint64_t u64;
		int64_t i64;
	} cases[] = {
		{ "0", true, true, 0, 0 },
		{ "007", true, true, 7, 7 },
		{ "18446744073709551615", true, false, UINT64_MAX, 0 },
		{ "18446744073709551616", false, false, 0, 0 },
		{ "99999999999999999999", false, false, 0, 0 },
		{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", true, false, UINT64_C(1) << 63, 0 },
		{ "-9223372036854775808", false, true, 0, INT64_MIN },
		{ "-9223372036854775809", false, false, 0, 0 },
		{ "-1", false, true, 0, -1 },
		{ "-0", false, true, 0, 0 },
		{ "+1", false, true, 0, 1 },
		{ "0x10", true, true, 16, 16 },
		{ "0XfF", true, true, 255, 255 },
		{ "-0x10", false, true, 0, -16 },
		{ "0xffffffffffffffff", true, false, UINT64_MAX, 0 },
		{ "0x10000000000000000", false, false, 0, 0 },
		{ "", false, false, 0, 0 },
		{ "-", false, false, 0, 0 },
		{ "+", false, false, 0, 0 },
		{ "0x", false, false, 0, 0 },
		{ "-0x", false, false, 0, 0 },
		{ "--1", false, false, 0, 0 },
		{ "0x-1", false, false, 0, 0 },
		{ " 1", false, false, 0, 0 },
		{ "1 ", false, false, 0, 0 },
		{ "1.0", false, false, 0, 0 },
		{ "1e3", false, false, 0, 0 },
		{ "ff", false, false, 0, 0 },
		{ "0xg", false, false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t size = strlen(cases[i].text);
		char *text = malloc(size + 1);
		uint64_t u64 = 42;
		int64_t i64 = 42;

		assert_non_null(text);
		memcpy(text, cases[i].text, size);
		text[size] = '9'; /* not to be seen */
		print_message("  '%s'\n", cases[i].text);
		assert_int_equal(parse_u64(text, size, &u64), cases[i].is_u64);
		assert_int_equal(parse_i64(text, size, &i64), cases[i].is_i64);
		assert_true(u64 == (cases[i].is_u64 ? cases[i].u64 : 42));
		assert_true(i64 == (cases[i].is_i64 ? cases[i].i64 : 42));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_follows_what_was_there),
		cmocka_unit_test(nothing_added_still_makes_a_string),
		cmocka_unit_test(a_nul_byte_is_a_byte),
		cmocka_unit_test(the_buffer_grows_with_every_size_of_step),
		cmocka_unit_test(clearing_keeps_the_memory),
		cmocka_unit_test(a_failed_buffer_stays_as_it_was_until_cleared),
		cmocka_unit_test(comparisons_ignore_ascii_case_only),
		cmocka_unit_test(every_byte_of_every_size_counts_in_a_hash),
		cmocka_unit_test(zero_bytes_of_different_sizes_have_different_hashes),
		cmocka_unit_test(the_hash_without_case_folds_letters_and_nothing_else),
		cmocka_unit_test(numbered_names_spread_over_a_table),
		cmocka_unit_test(decimals_are_those_of_printf),
		cmocka_unit_test(a_copy_ends_in_nul),
		cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
