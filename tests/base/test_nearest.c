/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void nearness_counts_letters(void **state)
{
	static const struct {
		const char *word, *known;
		bool near;
		unsigned distance;
	} cases[] = {
		{ "read", "read", true, 0 },
		{ "raed", "Read", true, 1 },
		{ "rea", "read", true, 1 },
		{ "reads", "read", true, 1 },
		{ "xyz", "read", false, 0 },
		{ "", "read", false, 0 },
		{ "TransfreSize", "TransferSize", true, 1 },
		{ "transfer", "TransferSize", true, 4 },
		{ "tr", "TransferSize", false, 0 },
		{ "read", "ThreadId", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct nearest nearest = { .word = cases[i].word, .size = strlen(cases[i].word) };

		nearest_offer(&nearest, cases[i].known);
		assert_int_equal(nearest.best != NULL, cases[i].near);
		assert_int_equal(nearest.distance, cases[i].distance);
	}
}

/* In either order. */
static void
a_word_that_begins_with_the_other_is_nearer_than_one_with_two_other_letters(void **state)
{
	static const struct {
		const char *word, *nearer, *farther;
	} cases[] = {
		{ "Disk", "DiskIo/Read", "ISR" },
		{ "disk", "DiskIo/Read", "desc" },
		{ "disk", "DiskIo/Read", "DiskIo/Write" },
		{ "dist", "disk", "distances" },
		{ "file", "file", "files" },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
		const char *word = cases[i / 2].word, *nearer = cases[i / 2].nearer;
		const char *farther = cases[i / 2].farther;
		struct nearest nearest = { .word = word, .size = strlen(word) };

		nearest_offer(&nearest, i % 2 ? nearer : farther);
		assert_non_null(nearest.best);
		nearest_offer(&nearest, i % 2 ? farther : nearer);
		assert_string_equal(nearest.best, nearer);
	}
}

/* A word that is farther is given up early, also between two letters that are swapped. */
static void the_largest_distance_can_be_chosen(void **state)
{
	static const char *const words[] = {
		"FileIo/Write", "FileIo/Wrtie",  "FielIo/Wrtie", "DiskIo/Write", "iFleoI/rWtie",
		"FileIo/",      "FileIo/WriteX", "Write/FileIo", "xyzIo/Write",  "FileIo/Read",
	};
	enum { COUNT = sizeof words / sizeof words[0] };

	(void)state;
	for (size_t i = 0; i < (size_t)COUNT * COUNT; i++) {
		const char *word = words[i / COUNT], *known = words[i % COUNT];
		struct nearest any = { .word = word, .size = strlen(word), .most = 64 };

		nearest_offer(&any, known);
		assert_non_null(any.best);
		for (unsigned most = 1; most < 16; most++) {
			struct nearest nearest = { .word = word,
						   .size = strlen(word),
						   .most = most };

			nearest_offer(&nearest, known);
			assert_int_equal(nearest.best != NULL, any.distance <= most);
			assert_int_equal(nearest.distance, nearest.best ? any.distance : 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearness_counts_letters),
		cmocka_unit_test(the_largest_distance_can_be_chosen),
		cmocka_unit_test(
			a_word_that_begins_with_the_other_is_nearer_than_one_with_two_other_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
