/* SPDX-License-Identifier: MIT */
/*
 * GUIDs: bytes as in a recording, text as people write it.
 */
#include "base/guid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The provider of kernel disk events, and its bytes in a recording. */
static const char disk_io_text[] = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
static const struct etw_guid disk_io = { { 0xd4, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d,
					   0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c } };

static void the_first_three_fields_are_little_endian(void **state)
{
	char text[GUID_TEXT_SIZE];
	struct etw_guid parsed;

	(void)state;
	guid_format(&disk_io, text);
	assert_string_equal(text, disk_io_text);
	assert_true(etw_guid_parse(disk_io_text, &parsed));
	assert_memory_equal(parsed.bytes, disk_io.bytes, sizeof disk_io.bytes);
}

static void the_initialiser_gives_the_same_bytes(void **state)
{
	static const struct etw_guid initialised = ETW_GUID_INIT(
		0x3d6fa8d4, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);

	(void)state;
	assert_true(etw_guid_equal(&initialised, &disk_io));
}

static void case_and_braces_do_not_matter(void **state)
{
	static const char *const texts[] = {
		"{3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c}",
		"3D6FA8D4-FE05-11D0-9DDA-00C04FD7BA7C",
		"{3D6fa8D4-fe05-11D0-9ddA-00C04fD7ba7C}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct etw_guid parsed;

		assert_true(etw_guid_parse(texts[i], &parsed));
		assert_true(etw_guid_equal(&parsed, &disk_io));
	}
}

static void anything_else_is_refused_and_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"{}",
		"{3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",
		"3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c}",
		" 3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",
		"3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c ",
		"3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7",
		"3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7cc",
		"3d6fa8d4fe0511d09dda00c04fd7ba7c",
		"3d6fa8d4-fe0511d0-9dda-00c04fd7ba7c0",
		"3d6fa8d-4fe05-11d0-9dda-00c04fd7ba7c",
		"3d6fa8g4-fe05-11d0-9dda-00c04fd7ba7c",
		"0x6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",
		"{{3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct etw_guid parsed = disk_io;

		print_message("  %s\n", texts[i]);
		assert_false(etw_guid_parse(texts[i], &parsed));
		assert_true(etw_guid_equal(&parsed, &disk_io));
	}
}

/* Each start of a GUID ends a block of its own, so that the sanitizers see a step too far. */
static void a_cut_text_is_not_read_behind_its_end(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof disk_io_text - 1; size++) {
		char *text = malloc(size + 1);
		struct etw_guid parsed;

		assert_non_null(text);
		memcpy(text, disk_io_text, size);
		text[size] = '\0';
		assert_false(etw_guid_parse(text, &parsed));
		free(text);
	}
}

static void guids_that_differ_in_one_bit_hash_apart(void **state)
{
	uint64_t hash = guid_hash(&disk_io, 0);

	(void)state;
	for (size_t bit = 0; bit < 128; bit++) {
		struct etw_guid other = disk_io;

		other.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(etw_guid_equal(&other, &disk_io));
		assert_true(guid_hash(&other, 0) != hash);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_three_fields_are_little_endian),
		cmocka_unit_test(the_initialiser_gives_the_same_bytes),
		cmocka_unit_test(case_and_braces_do_not_matter),
		cmocka_unit_test(anything_else_is_refused_and_changes_nothing),
		cmocka_unit_test(a_cut_text_is_not_read_behind_its_end),
		cmocka_unit_test(guids_that_differ_in_one_bit_hash_apart),
	};

	return cmocka_run_group_tests_name("guid", tests, NULL, NULL);
}
