/* SPDX-License-Identifier: MIT */
/*
 * UTF-8: every code point there and back, and what becomes of bytes that are none.
 */
#include "base/text.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_code_point_survives_encoding(void **state)
{
	(void)state;
	for (uint32_t codepoint = 0; codepoint <= 0x10ffff; codepoint++) {
		bool surrogate = codepoint >= 0xd800 && codepoint <= 0xdfff;
		char bytes[4];
		size_t size = utf8_encode(codepoint, bytes);
		uint32_t back;

		assert_true(utf8_decode(bytes, size, &back) == size);
		assert_true(back == (surrogate ? UTF8_REPLACEMENT : codepoint));
	}
}

static void encodings_have_the_standard_bytes(void **state)
{
	static const struct {
		uint32_t codepoint;
		const char *bytes;
	} cases[] = {
		{ 'A', "A" },
		{ 0x7f, "\x7f" },
		{ 0x80, "\xc2\x80" },
		{ 0x7ff, "\xdf\xbf" },
		{ 0x800, "\xe0\xa0\x80" },
		{ 0x20ac, "\xe2\x82\xac" },
		{ 0xffff, "\xef\xbf\xbf" },
		{ 0x10000, "\xf0\x90\x80\x80" },
		{ 0x10ffff, "\xf4\x8f\xbf\xbf" },
		{ 0x110000, "\xef\xbf\xbd" },
		{ UINT32_MAX, "\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char bytes[4];
		size_t size = utf8_encode(cases[i].codepoint, bytes);

		assert_int_equal(size, strlen(cases[i].bytes));
		assert_memory_equal(bytes, cases[i].bytes, size);
	}
}

/*
 * R stands for one U+FFFD. The longer ones: "U+FFFD Substitution of Maximal Subparts", tables 3-8
 * to 3-11.
 */
static void what_is_not_utf8_is_replaced(void **state)
{
	static const struct {
		const char *bytes;
		const char *clean;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
		{ "\x80", "R" },
		{ "\xff", "R" },
		{ "a\xe9z", "aRz" },
		{ "\xc3", "R" },
		{ "\xe2\x82", "R" },
		{ "\xf0\x9f\x98", "R" },
		{ "\xf0\x9f\x98x", "Rx" },
		{ "\xef\xbf\xbd", "R" },
		{ "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "RRRRRRRRA" },
		{ "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "RRRRRRRRA" },
		{ "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "RRRRRARRB" },
		{ "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "RRRRA" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t size = strlen(cases[i].bytes);
		char *bytes = malloc(size + 1);
		struct etw_text clean = { 0 }, expected = { 0 };

		assert_non_null(bytes);
		memcpy(bytes + 1, cases[i].bytes, size); /* ends with the block */
		for (const char *at = cases[i].clean; *at; at++) {
			text_add(&expected, *at == 'R' ? "\xef\xbf\xbd" : at, *at == 'R' ? 3 : 1);
		}
		text_add_string(&expected, "");
		text_add_utf8_clean(&clean, bytes + 1, size);
		assert_string_equal(clean.data, expected.data);
		text_free(&clean);
		text_free(&expected);
		free(bytes);
	}
}

/* The result for any three bytes is clean: cleaning it again changes nothing. */
static void clean_text_stays_as_it_is(void **state)
{
	struct etw_text once = { 0 }, twice = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1u << 24; i += 7) {
		const char bytes[3] = { (char)(i & 0xff), (char)(i >> 8 & 0xff), (char)(i >> 16) };

		text_clear(&once);
		text_clear(&twice);
		text_add_utf8_clean(&once, bytes, sizeof bytes);
		text_add_utf8_clean(&twice, once.data, once.size);
		if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0) {
			fail_msg("bytes %06x", i);
		}
	}
	text_free(&once);
	text_free(&twice);
}

/* Expected by "The Unicode Standard", sections 23.1 to 23.3, and by Unicode Standard Annex #9
 * (bidirectional controls). */
static void what_steers_a_terminal_is_known(void **state)
{
	static const uint32_t steer[] = { 0,      '\t',   '\n',   '\r',   0x1b,   0x7f,
					  0x85,   0x9b,   0xad,   0x61c,  0x180e, 0x200b,
					  0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a,
					  0x202e, 0x2060, 0x2066, 0x2069, 0xfeff, 0xfff9 };
	static const uint32_t harmless[] = { ' ',    '~',    0xa0,   0xa9,   0x3b1,  0x5d0,  0x200a,
					     0x2010, 0x2026, 0x202f, 0x4e2d, 0xfffd, 0x1f600 };

	(void)state;
	for (size_t i = 0; i < sizeof steer / sizeof steer[0]; i++) {
		assert_true(utf8_steers_terminal(steer[i]));
	}
	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
		assert_false(utf8_steers_terminal(harmless[i]));
	}
}

static void no_text_at_all_adds_nothing(void **state)
{
	struct etw_text text = { 0 };

	(void)state;
	text_add_utf8_clean(&text, NULL, 0);
	assert_int_equal(text.size, 0);
	assert_false(text.failed);
	text_free(&text);
}

static void columns_are_never_too_few(void **state)
{
	/* "EastAsianWidth.txt", Unicode Character Database: N, Na, H, A and W, F. */
	static const struct {
		uint32_t codepoint;
		unsigned columns;
	} rows[] = {
		{ 'a', 1 },     { 0xe4, 1 },     { 0x394, 1 },  { 0x10ff, 1 }, { 0x1100, 2 },
		{ 0x115f, 2 },  { 0x1160, 1 },   { 0x2713, 2 }, { 0x3042, 2 }, { 0x6f22, 2 },
		{ 0xac00, 2 },  { 0xff21, 2 },   { 0xff61, 1 }, { 0xfffd, 1 }, { 0x1f600, 2 },
		{ 0x20000, 2 }, { 0x10ffff, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(utf8_columns(rows[i].codepoint), rows[i].columns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_text_at_all_adds_nothing),
		cmocka_unit_test(every_code_point_survives_encoding),
		cmocka_unit_test(encodings_have_the_standard_bytes),
		cmocka_unit_test(what_is_not_utf8_is_replaced),
		cmocka_unit_test(clean_text_stays_as_it_is),
		cmocka_unit_test(what_steers_a_terminal_is_known),
		cmocka_unit_test(columns_are_never_too_few),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
