/* SPDX-License-Identifier: MIT */
/*
 * UTF-16LE to UTF-8: every sort of character, surrogates alone and in pairs, at any alignment.
 */
#include "lib/decode/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void text_becomes_utf8(void **state)
{
	static const struct {
		const char *name;
		size_t count;
		uint16_t units[6];
		const char *utf8;
	} cases[] = {
		{ "nothing", 0, { 0 }, "" },
		{ "ASCII", 3, { 'a', '\\', '~' }, "a\\~" },
		{ "two bytes", 3, { 0x80, 0xf6, 0x7ff }, "\xc2\x80\xc3\xb6\xdf\xbf" },
		{ "three bytes",
		  3,
		  { 0x800, 0x30c7, 0xffff },
		  "\xe0\xa0\x80\xe3\x83\x87\xef\xbf\xbf" },
		{ "a pair", 2, { 0xd83d, 0xdcbe }, "\xf0\x9f\x92\xbe" },
		{ "the first pair", 2, { 0xd800, 0xdc00 }, "\xf0\x90\x80\x80" },
		{ "the last pair", 2, { 0xdbff, 0xdfff }, "\xf4\x8f\xbf\xbf" },
		{ "a lead alone at the end", 2, { 'a', 0xd83d }, "a\xef\xbf\xbd" },
		{ "a lead before a letter",
		  2,
		  { 0xd83d, 'a' },
		  "\xef\xbf\xbd"
		  "a" },
		{ "a trail alone",
		  2,
		  { 0xdcbe, 'a' },
		  "\xef\xbf\xbd"
		  "a" },
		{ "a pair the wrong way round", 2, { 0xdcbe, 0xd83d }, "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "a lead before a pair",
		  3,
		  { 0xd83d, 0xd83d, 0xdcbe },
		  "\xef\xbf\xbd\xf0\x9f\x92\xbe" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t start = 0; start < 2; start++) {
			struct etw_text text = { 0 };
			uint8_t block[16] = { 0 };
			uint8_t *copy;

			print_message("  %s\n", cases[i].name);
			for (size_t k = 0; k < cases[i].count; k++) {
				block[start + 2 * k] = (uint8_t)cases[i].units[k];
				block[start + 2 * k + 1] = (uint8_t)(cases[i].units[k] >> 8);
			}
			copy = exact_copy(block, start + 2 * cases[i].count);
			text_add_utf16(&text, copy + start, cases[i].count);
			assert_int_equal(text.size, strlen(cases[i].utf8));
			assert_memory_equal(text.data ? text.data : "", cases[i].utf8, text.size);
			text_free(&text);
			free(copy);
		}
	}
}

static void long_text_is_whole(void **state)
{
	enum { UNITS = 5000 };
	uint8_t *units = calloc(UNITS, 2);
	struct etw_text text = { 0 };

	(void)state;
	assert_non_null(units);
	for (size_t i = 0; i < UNITS; i++) { /* changing widths, so that block ends fall anywhere */
		uint16_t unit = i % 7 == 3 ? 0x20ac : i % 5 == 2 ? 0xe4 : 'x';

		units[2 * i] = (uint8_t)unit;
		units[2 * i + 1] = (uint8_t)(unit >> 8);
	}
	text_add_utf16(&text, units, UNITS);
	assert_false(text.failed);
	for (size_t i = 0, at = 0; i < UNITS; i++) {
		const char *expected = i % 7 == 3 ? "\xe2\x82\xac" : i % 5 == 2 ? "\xc3\xa4" : "x";

		assert_memory_equal(text.data + at, expected, strlen(expected));
		at += strlen(expected);
	}
	text_free(&text);
	free(units);
}

static void length_ends_at_the_first_whole_nul(void **state)
{
	static const struct {
		size_t units;
		uint8_t bytes[8];
		size_t length;
	} cases[] = {
		{ 0, { 0 }, 0 },
		{ 1, { 0, 0 }, 0 },
		{ 3, { 'a', 0, 'b', 0, 0, 0 }, 2 },
		{ 2, { 'a', 0, 'b', 0 }, 2 },
		{ 3, { 0, 1, 1, 0, 0, 0 }, 2 }, /* zero bytes that are no NUL */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t *copy = exact_copy(cases[i].bytes, 2 * cases[i].units);

		assert_int_equal(utf16_length(copy, cases[i].units), cases[i].length);
		free(copy);
	}
}

/* One unit that is not ASCII, or a NUL, at each place of texts of each length. */
static void every_place_of_a_text_is_looked_at(void **state)
{
	static const struct {
		uint16_t unit;
		const char *utf8;
	} others[] = { { 0, "" },
		       { 0x7f, "\x7f" },
		       { 0x80, "\xc2\x80" },
		       { 0xff, "\xc3\xbf" },
		       { 0x100, "\xc4\x80" },
		       { 0x161, "\xc5\xa1" },
		       { 0x2161, "\xe2\x85\xa1" },
		       { 0x8061, "\xe8\x81\xa1" },
		       { 0xdc61, "\xef\xbf\xbd" } };
	enum { LONGEST = 40 };

	(void)state;
	for (size_t units = 1; units <= LONGEST; units++) {
		for (size_t place = 0; place < units * COUNT(others); place++) {
			uint16_t unit = others[place / units].unit;
			const char *utf8 = others[place / units].utf8;
			size_t before = place % units, size = unit == 0 ? 1 : strlen(utf8);
			uint8_t bytes[2 * LONGEST] = { 0 };
			struct etw_text text = { 0 };
			uint8_t *copy;

			for (size_t i = 0; i < units; i++) {
				bytes[2 * i] = (uint8_t)('a' + i % 26);
			}
			bytes[2 * before] = (uint8_t)unit;
			bytes[2 * before + 1] = (uint8_t)(unit >> 8);
			copy = exact_copy(bytes, 2 * units);
			assert_int_equal(utf16_length(copy, units), unit == 0 ? before : units);
			text_add_utf16(&text, copy, units);
			assert_int_equal(text.size, units - 1 + size);
			assert_memory_equal(text.data + before, utf8, size);
			for (size_t i = 0; i < units; i++) {
				size_t at = i < before ? i : i + size - 1;

				assert_true(i == before || text.data[at] == (char)('a' + i % 26));
			}
			text_free(&text);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_becomes_utf8),
		cmocka_unit_test(long_text_is_whole),
		cmocka_unit_test(every_place_of_a_text_is_looked_at),
		cmocka_unit_test(length_ends_at_the_first_whole_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
