/* SPDX-License-Identifier: MIT */
/*
 * SIDs as text, and where they end, alone and in the kernel's form.
 */
#include <etw/mirror.h>

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

static void sids_are_written_with_their_authority(void **state)
{
	static const char *const cases[] = {
		"S-1-5-18",
		"S-1-0",
		"S-1-281474976710655-4294967295",
		"S-1-5-21-4151223144-1238771585-1724997581-1000",
		"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_text text = { 0 };
		struct etw_payload sid;
		uint8_t *bytes;

		etw_payload_init(&sid, 8);
		etw_payload_sid(&sid, cases[i]);
		assert_false(sid.failed);
		bytes = exact_copy(sid.bytes, sid.size);
		for (size_t size = 0; size < sid.size; size++) {
			assert_int_equal(etw_sid_size(bytes, size), 0);
		}
		assert_int_equal(etw_sid_size(bytes, sid.size), sid.size);
		assert_int_equal(etw_sid_size(bytes, SIZE_MAX), sid.size);
		etw_text_add_sid(&text, bytes);
		assert_string_equal(text.data, cases[i]);
		text_free(&text);
		free(bytes);
		etw_payload_done(&sid);
	}
}

static void what_is_no_sid_has_no_size(void **state)
{
	static const uint8_t revision_2[8] = { 2, 0 };
	static const uint8_t too_many[8 + 4 * 16] = { 1, 16 };

	(void)state;
	assert_int_equal(etw_sid_size(revision_2, sizeof revision_2), 0);
	assert_int_equal(etw_sid_size(too_many, sizeof too_many), 0);
}

static void kernel_sids_follow_two_words_or_are_four_zeros(void **state)
{
	static const struct {
		const char *name;
		uint8_t pointer_size;
		uint8_t bytes[32];
		size_t size;  /* of what is there */
		size_t whole; /* of the field */
		size_t sid;   /* offset; 0: none */
	} cases[] = {
		{ "64-bit", 8, { 9, [16] = 1, 1, [23] = 5, 18 }, 32, 28, 16 },
		{ "32-bit", 4, { 9, [8] = 1, 1, [15] = 5, 18 }, 32, 20, 8 },
		{ "exactly one", 4, { 9, [8] = 1, 1, [15] = 5, 18 }, 20, 20, 8 },
		{ "one byte short", 4, { 9, [8] = 1, 1, [15] = 5, 18 }, 19, 0, 0 },
		{ "none, and nothing else", 8, { 0 }, 4, 4, 0 },
		{ "none, then text", 8, { 0, 0, 0, 0, 'I', 'd', 'l', 'e' }, 32, 4, 0 },
		{ "zero words, then a SID", 4, { [8] = 1, 1, [15] = 5, 18 }, 32, 20, 8 },
		{ "zero words, then a SID, 64-bit", 8, { [16] = 1, 1, [23] = 5, 18 }, 32, 28, 16 },
		{ "zero words, then a SID of no parts", 4, { [8] = 1, 0, [15] = 5 }, 32, 4, 0 },
		{ "zero words, then a large authority", 4, { [8] = 1, 1, 1, [15] = 5 }, 32, 4, 0 },
		{ "zero words, then a SID that is cut", 4, { [8] = 1, 1, [15] = 5, 18 }, 19, 4, 0 },
		{ "words, then no SID", 4, { 9, [8] = 7 }, 32, 0, 0 },
		{ "three bytes", 4, { 0 }, 3, 0, 0 },
		{ "nothing", 4, { 0 }, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t *bytes = exact_copy(cases[i].bytes, cases[i].size);
		const uint8_t *sid = NULL;

		print_message("  %s\n", cases[i].name);
		assert_int_equal(kernel_sid_size(bytes, cases[i].size, cases[i].pointer_size, &sid),
				 cases[i].whole);
		assert_ptr_equal(sid, cases[i].sid ? bytes + cases[i].sid : NULL);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sids_are_written_with_their_authority),
		cmocka_unit_test(what_is_no_sid_has_no_size),
		cmocka_unit_test(kernel_sids_follow_two_words_or_are_four_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
