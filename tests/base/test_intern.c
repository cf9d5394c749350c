/* SPDX-License-Identifier: MIT */
/*
 * Interned strings: one id for one text, and a budget that holds.
 */
#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_text_has_one_id_and_keeps_it(void **state)
{
	struct intern *intern = intern_new(1 << 20, NULL);
	uint32_t a, b;
	size_t size;

	(void)state;
	a = intern_string(intern, "svchost");
	b = intern_string(intern, "System");
	assert_int_not_equal(a, b);
	assert_int_equal(intern_add(intern, "svchost.exe", 7), a);
	assert_int_equal(intern_string(intern, "System"), b);
	assert_string_equal(intern_text(intern, a, &size), "svchost");
	assert_int_equal(size, 7);
	assert_string_equal(intern_text(intern, b, NULL), "System");
	assert_int_equal(intern_count(intern), 3);
	intern_free(intern);
}

static void the_empty_text_is_id_0_and_free(void **state)
{
	struct intern *intern = intern_new(0, NULL);
	size_t size = 1;

	(void)state;
	assert_int_equal(intern_add(intern, NULL, 0), INTERN_NONE);
	assert_int_equal(intern_string(intern, ""), INTERN_NONE);
	assert_string_equal(intern_text(intern, INTERN_NONE, &size), "");
	assert_int_equal(size, 0);
	assert_int_equal(intern_count(intern), 1);
	assert_int_equal(intern_refused(intern), 0);
	intern_free(intern);
}

static void a_nul_byte_makes_texts_different(void **state)
{
	struct intern *intern = intern_new(1 << 20, NULL);
	uint32_t one = intern_add(intern, "a", 1);
	uint32_t two = intern_add(intern, "a\0", 2);
	uint32_t three = intern_add(intern, "a\0b", 3);
	size_t size;

	(void)state;
	assert_int_not_equal(one, two);
	assert_int_not_equal(two, three);
	assert_memory_equal(intern_text(intern, three, &size), "a\0b", 4);
	assert_int_equal(size, 3);
	intern_free(intern);
}

/* Past many growths of the table, the chunks and the arenas. */
static void texts_do_not_move_while_the_table_grows(void **state)
{
	enum { TEXTS = 100000 };
	struct intern *intern = intern_new(64 << 20, NULL);
	const char *first = intern_text(intern, intern_string(intern, "first"), NULL);
	char text[32];

	(void)state;
	for (unsigned i = 0; i < TEXTS; i++) {
		int size = snprintf(text, sizeof text, "text %u", i);

		assert_int_equal(intern_add(intern, text, (size_t)size), i + 2);
	}
	for (unsigned i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof text, "text %u", i);
		assert_int_equal(intern_string(intern, text), i + 2);
		assert_string_equal(intern_text(intern, i + 2, NULL), text);
	}
	assert_ptr_equal(intern_text(intern, 1, NULL), first);
	assert_int_equal(intern_count(intern), TEXTS + 2);
	intern_free(intern);
}

static void texts_of_every_size_are_kept_whole(void **state)
{
	enum { LARGEST = 200000 };
	struct intern *intern = intern_new(16 << 20, NULL);
	char *text = malloc(LARGEST);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < LARGEST; i++) {
		text[i] = (char)('a' + i % 23);
	}
	for (size_t size = 1; size < LARGEST; size += 1 + size / 8) {
		uint32_t id = intern_add(intern, text, size);
		size_t kept_size;
		const char *kept = intern_text(intern, id, &kept_size);

		assert_int_equal(kept_size, size);
		assert_memory_equal(kept, text, size);
		assert_int_equal(kept[size], '\0');
		assert_int_equal(intern_add(intern, text, size), id);
	}
	free(text);
	intern_free(intern);
}

static void a_spent_budget_refuses_only_what_is_new(void **state)
{
	enum { BUDGET = 10000 };
	struct intern *intern = intern_new(BUDGET, NULL);
	uint32_t last = INTERN_NONE, id;
	char text[32];
	unsigned added = 0;

	(void)state;
	for (;; added++) {
		snprintf(text, sizeof text, "%09u", added);
		id = intern_string(intern, text);
		if (id == INTERN_FULL) {
			break;
		}
		last = id;
	}
	/* Nine bytes, a NUL, and what a text costs besides. */
	assert_in_range(added, BUDGET / (10 + 128), BUDGET / (10 + 16));
	assert_int_equal(intern_refused(intern), 1);
	assert_int_equal(intern_string(intern, text), INTERN_FULL);
	assert_int_equal(intern_refused(intern), 2);
	assert_int_equal(intern_string(intern, "000000000"), 1);
	assert_int_equal(intern_refused(intern), 2);
	assert_int_equal(intern_count(intern), added + 1);
	assert_string_not_equal(intern_text(intern, last, NULL), text);
	intern_free(intern);
}

static void a_text_of_the_program_is_kept_beyond_the_budget(void **state)
{
	struct intern *intern = intern_new(1000, NULL);
	char text[32];
	uint32_t id;

	(void)state;
	for (unsigned i = 0; i < 100; i++) { /* far beyond the budget */
		snprintf(text, sizeof text, "own %u", i);
		id = intern_own(intern, text);
		assert_int_not_equal(id, INTERN_FULL);
		assert_string_equal(intern_text(intern, id, NULL), text);
		assert_int_equal(intern_own(intern, text), id);
		assert_int_equal(intern_string(intern, text), id);
	}
	assert_int_equal(intern_refused(intern), 0);
	assert_int_equal(intern_string(intern, "of an event"), INTERN_FULL);
	assert_int_equal(intern_own(intern, ""), INTERN_NONE);
	intern_free(intern);
}

static void a_text_larger_than_the_budget_is_refused(void **state)
{
	struct intern *intern = intern_new(1000, NULL);
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof text);
	assert_int_equal(intern_add(intern, text, sizeof text), INTERN_FULL);
	assert_int_equal(intern_add(intern, text, 950), INTERN_FULL);
	assert_int_not_equal(intern_add(intern, text, 100), INTERN_FULL);
	intern_free(intern);
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;
	intern_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_has_one_id_and_keeps_it),
		cmocka_unit_test(the_empty_text_is_id_0_and_free),
		cmocka_unit_test(a_nul_byte_makes_texts_different),
		cmocka_unit_test(texts_do_not_move_while_the_table_grows),
		cmocka_unit_test(texts_of_every_size_are_kept_whole),
		cmocka_unit_test(a_spent_budget_refuses_only_what_is_new),
		cmocka_unit_test(a_text_of_the_program_is_kept_beyond_the_budget),
		cmocka_unit_test(a_text_larger_than_the_budget_is_refused),
		cmocka_unit_test(freeing_nothing_is_fine),
	};

	return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
