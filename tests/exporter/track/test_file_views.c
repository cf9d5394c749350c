/* SPDX-License-Identifier: MIT */
/*
 * The views of files alone: their look-ups, their bound, and a model which they must agree with.
 *
 * Streams are random; VIEWS_SEED repeats one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "exporter/track/files.h"

enum { ALICE = 2, BOB = 3 };

static struct file_views views;
static uint32_t found[8], process;

static int set_up(void **state)
{
	(void)state;
	file_views_init(&views, 4);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	file_views_clear(&views);
	return 0;
}

static size_t of(uint64_t file)
{
	return file_views_of(&views, file, found, 8);
}

static void stores_change_a_file_through_writable_views_of_its_data(void **state)
{
	static const struct {
		uint64_t info;
		bool writable;
	} cases[] = {
		{ UINT64_C(0x0001) << 48, false }, /* read */
		{ UINT64_C(0x0003) << 48, false }, /* execute and read */
		{ UINT64_C(0x0004) << 48, true },  /* read and write */
		{ UINT64_C(0x000c) << 48, true },  /* not cached by the processor */
		{ UINT64_C(0x0005) << 48, false }, /* copy on write */
		{ UINT64_C(0x0006) << 48, true },  /* execute, read and write */
		{ UINT64_C(0x0007) << 48, false },
		{ UINT64_C(0x0047) << 48, false }, /* a program */
		{ UINT64_C(0x0084) << 48, false }, /* a program that is not executed */
		{ UINT64_C(0x00c4) << 48, false }, /* memory */
		{ UINT64_C(0x000400001234f000), true },
		{ 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(file_view_is_writable(cases[i].info), cases[i].writable);
	}
}

static void a_view_is_known_by_its_process_and_address(void **state)
{
	(void)state;
	file_views_add(&views, 7, 100, 0x10000, ALICE);
	file_views_add(&views, 7, 200, 0x10000, BOB);   /* of another process */
	file_views_add(&views, 7, 100, 0x10000, ALICE); /* reported again */
	assert_int_equal(of(7), 2);
	assert_int_equal(file_views_remove(&views, 100, 0x20000, &process), 0);
	assert_int_equal(file_views_remove(&views, 300, 0x10000, &process), 0);
	assert_int_equal(file_views_remove(&views, 100, 0x10000, &process), 7);
	assert_int_equal(process, ALICE);
	assert_int_equal(of(7), 1);
	assert_int_equal(found[0], BOB);
	assert_int_equal(file_views_remove(&views, 100, 0x10000, &process), 0);
	file_views_add(&views, 8, 200, 0x10000, BOB); /* another file at this address */
	assert_int_equal(of(7), 0);
	assert_int_equal(of(8), 1);
}

static void a_file_without_a_key_has_no_view(void **state)
{
	(void)state;
	file_views_add(&views, 0, 100, 0x10000, ALICE);
	assert_int_equal(of(0), 0);
	assert_int_equal(file_views_remove(&views, 100, 0x10000, &process), 0);
}

static void several_views_of_a_process_count_once(void **state)
{
	(void)state;
	file_views_add(&views, 7, 100, 0x10000, ALICE);
	file_views_add(&views, 7, 100, 0x20000, ALICE);
	file_views_add(&views, 7, 101, 0x10000, ALICE); /* another instance of the program */
	file_views_add(&views, 7, 200, 0x10000, BOB);
	assert_int_equal(of(7), 2);
	assert_int_equal(file_views_of(&views, 7, found, 1), 1);
	assert_int_equal(file_views_remove(&views, 100, 0x20000, &process), 7);
	assert_int_equal(of(7), 2);
}

static void a_process_or_a_file_ends_all_its_views(void **state)
{
	(void)state;
	file_views_add(&views, 7, 100, 0x10000, ALICE);
	file_views_add(&views, 8, 100, 0x20000, ALICE);
	file_views_add(&views, 7, 200, 0x10000, BOB);
	assert_int_equal(file_views_remove_one(&views, 100, &process) +
				 file_views_remove_one(&views, 100, &process),
			 7 + 8);
	assert_int_equal(file_views_remove_one(&views, 100, &process), 0);
	assert_int_equal(of(7), 1);
	file_views_forget_file(&views, 7);
	assert_int_equal(of(7), 0);
	assert_int_equal(file_views_remove_one(&views, 200, &process), 0);
	assert_int_equal(views.by_place.count, 0);
}

static void a_full_table_drops_views_and_counts_them(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		file_views_add(&views, 7, i, 0x10000, 10 + i);
	}
	assert_int_equal(views.by_place.count, 4);
	assert_int_equal(views.evictions, 6);
	assert_int_equal(of(7), 4);
	for (unsigned i = 0; i < 4; i++) { /* the newest */
		assert_int_equal(found[i], 19 - i);
	}
	file_views_remove(&views, 9, 0x10000, &process);
	file_views_add(&views, 7, 1, 0x10000, ALICE);
	assert_int_equal(views.evictions, 6);
}

/* ---- against a model ---- */

enum { FILES = 3, PROCESSES = 4, PLACES = 5, STEPS = 100000 };

static uint64_t random_state;

static uint32_t random_below(uint32_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 20) % end);
}

static uint64_t model[PROCESSES][PLACES]; /* the file that is mapped; 0: none */

static void random_step(void)
{
	uint32_t id = random_below(PROCESSES), place = random_below(PLACES);
	uint64_t file = 1 + random_below(FILES), address = (uint64_t)place << 16;

	switch (random_below(20)) {
	case 0:
		while (file_views_remove_one(&views, id, &process) != 0) {
			assert_int_equal(process, 10 + id);
		}
		memset(model[id], 0, sizeof model[id]);
		break;
	case 1:
		file_views_forget_file(&views, file);
		for (unsigned i = 0; i < PROCESSES * PLACES; i++) {
			uint64_t *mapped = &model[i / PLACES][i % PLACES];

			*mapped = *mapped == file ? 0 : *mapped;
		}
		break;
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
		assert_int_equal(file_views_remove(&views, id, address, &process),
				 model[id][place]);
		model[id][place] = 0;
		break;
	default:
		file_views_add(&views, file, id, address, 10 + id);
		model[id][place] = file;
		break;
	}
}

static void check_model(void)
{
	for (uint64_t file = 1; file <= FILES; file++) {
		size_t count = of(file), expected = 0;

		for (uint32_t id = 0; id < PROCESSES; id++) {
			bool has = false, named = false;

			for (unsigned place = 0; place < PLACES; place++) {
				has |= model[id][place] == file;
			}
			for (size_t i = 0; i < count; i++) {
				named |= found[i] == 10 + id;
			}
			assert_int_equal(named, has);
			expected += has;
		}
		assert_int_equal(count, expected);
	}
}

static void the_views_agree_with_a_model(void **state)
{
	const char *given = getenv("VIEWS_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : os_unix_time_ns() | 1;

	(void)state;
	file_views_init(&views, PROCESSES * PLACES);
	print_message("  VIEWS_SEED=%llu\n", (unsigned long long)seed);
	random_state = seed;
	memset(model, 0, sizeof model);
	for (unsigned i = 0; i < STEPS; i++) {
		random_step();
		check_model();
	}
	assert_int_equal(views.evictions, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(stores_change_a_file_through_writable_views_of_its_data),
		TEST(a_view_is_known_by_its_process_and_address),
		TEST(a_file_without_a_key_has_no_view),
		TEST(several_views_of_a_process_count_once),
		TEST(a_process_or_a_file_ends_all_its_views),
		TEST(a_full_table_drops_views_and_counts_them),
		TEST(the_views_agree_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
