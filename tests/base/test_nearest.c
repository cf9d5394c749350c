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
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct nearest nearest = { .word = cases[i].word, .size = strlen(cases[i].word) };

		nearest_offer(&nearest, cases[i].known);
		assert_int_equal(nearest.best != NULL, cases[i].near);
		assert_int_equal(nearest.distance, cases[i].distance);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearness_counts_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
