/* SPDX-License-Identifier: MIT */
/*
 * A file gets its place when it is whole, nothing is left of one that is not, and nothing that is
 * there already is written to.
 */
#include "base/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/system.h"
#include "tests/support/temporary.h"

struct place {
	char folder[TEMPORARY_PATH_SIZE];
	char path[2 * TEMPORARY_PATH_SIZE]; /* of the file in it */
};

static void make_place(struct place *place)
{
	struct etw_error err = { 0 };

	temporary_path(place->folder, "folder");
	snprintf(place->path, sizeof place->path, "%s/a.html", place->folder);
	assert_true(os_folder_make(place->folder, NULL, &err));
	assert_true(os_file_write_whole(place->path, "former", 6, &err));
}

static bool count(void *context, const char *name)
{
	size_t *files = context;

	*files += strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
	return true;
}

static size_t count_files(const struct place *place)
{
	size_t files = 0;

	os_folder_list(place->folder, count, &files);
	return files;
}

/* The file has these bytes. */
static void check_bytes(const char *path, const char *bytes)
{
	struct etw_error err = { 0 };
	struct os_file *file = os_file_open(path, &err);
	char found[16];
	size_t size = 0;

	assert_non_null(file);
	assert_true(os_file_read(file, 0, found, sizeof found, &size, &err));
	os_file_close(file);
	assert_int_equal(size, strlen(bytes));
	assert_memory_equal(found, bytes, size);
}

/* The folder holds the file with these bytes, and nothing else; removes both. */
static void end_place(const struct place *place, const char *bytes)
{
	check_bytes(place->path, bytes);
	assert_int_equal(count_files(place), 1);
	assert_true(os_file_remove(place->path, NULL));
	assert_true(system_remove_folder(place->folder));
}

static void a_whole_file_takes_the_place_of_the_former_one(void **state)
{
	struct place place;
	struct etw_error err = { 0 };

	(void)state;
	make_place(&place);
	assert_true(os_file_write_whole(place.path, "new", 3, &err));
	end_place(&place, "new");
}

/* The place with the former file, and a new one that is not published. */
static struct os_file *begin_new(struct place *place, bool visible)
{
	struct etw_error err = { 0 };
	struct os_file *file;

	make_place(place);
	file = os_file_new(place->path, visible, &err);
	assert_string_equal(err.text, "");
	assert_non_null(file);
	assert_true(os_file_append(file, "net", 3, &err));
	assert_true(os_file_append(file, "s", 1, &err));
	assert_true(os_file_overwrite(file, "new", 3, &err));
	check_bytes(place->path, "former");
	return file;
}

static void without_an_end_the_former_file_stays(void **state)
{
	struct place place;

	(void)state;
	os_file_close(begin_new(&place, false));
	end_place(&place, "former");
	os_file_close(begin_new(&place, true));
	end_place(&place, "former");
}

static void a_file_that_is_published_stays(void **state)
{
	struct place place;
	struct etw_error err = { 0 };

	(void)state;
	for (int visible = 0; visible < 2; visible++) {
		struct os_file *file = begin_new(&place, visible);

		assert_true(os_file_publish(file, &err));
		os_file_close(file);
		end_place(&place, "news");
	}
}

static void a_path_without_a_file_gets_one(void **state)
{
	struct place place;
	struct os_file *file;
	struct etw_error err = { 0 };

	(void)state;
	make_place(&place);
	assert_true(os_file_remove(place.path, &err));
	file = os_file_new(place.path, false, &err);
	assert_non_null(file);
	assert_true(os_file_append(file, "first", 5, &err));
	assert_true(os_file_publish(file, &err));
	os_file_close(file);
	end_place(&place, "first");
}

static void a_visible_file_can_be_left(void **state)
{
	struct place place;
	struct os_file *file;
	char *left;

	(void)state;
	file = begin_new(&place, true);
	left = os_file_leave(file);
	os_file_close(file);
	assert_non_null(left);
	assert_memory_equal(left, place.path, strlen(place.path));
	check_bytes(left, "news");
	assert_int_equal(count_files(&place), 2);
	assert_true(os_file_remove(left, NULL));
	free(left);
	end_place(&place, "former");
}

static void a_new_file_is_read_through_a_second_handle(void **state)
{
	struct place place;
	struct os_file *file = begin_new(&place, false), *shared;
	struct etw_error err = { 0 };
	char found[8];
	size_t size;

	(void)state;
	shared = os_file_share(file, &err);
	os_file_close(file);
	assert_non_null(shared);
	assert_null(os_file_change(shared)); /* that it is removed is no change */
	assert_true(os_file_read(shared, 0, found, sizeof found, &size, &err));
	assert_int_equal(size, 4);
	assert_memory_equal(found, "news", 4);
	os_file_close(shared);
	end_place(&place, "former");
}

static void every_partial_name_is_another_one(void **state)
{
	char *a = os_partial_name("x/a.etl"), *b = os_partial_name("x/a.etl");

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(strlen(a), strlen("x/a.etl.0123456789abcdef.partial"));
	assert_memory_equal(a, "x/a.etl.", 8);
	assert_string_not_equal(a, b);
	free(a);
	free(b);
}

static void an_error_comes_before_the_first_byte_and_leaves_nothing(void **state)
{
	struct place place;
	struct etw_error err = { 0 };
	char inside[3 * TEMPORARY_PATH_SIZE];

	(void)state;
	make_place(&place);
	snprintf(inside, sizeof inside, "%s/nowhere/a.html", place.folder);
	assert_null(os_file_new(inside, false, &err));
	assert_null(strstr(err.text, place.folder));
	assert_null(os_file_new(place.folder, false, &err));
	assert_string_equal(err.text, "is a directory, not a regular file");
	end_place(&place, "former");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_takes_the_place_of_the_former_one),
		cmocka_unit_test(without_an_end_the_former_file_stays),
		cmocka_unit_test(a_file_that_is_published_stays),
		cmocka_unit_test(a_path_without_a_file_gets_one),
		cmocka_unit_test(a_visible_file_can_be_left),
		cmocka_unit_test(a_new_file_is_read_through_a_second_handle),
		cmocka_unit_test(every_partial_name_is_another_one),
		cmocka_unit_test(an_error_comes_before_the_first_byte_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
