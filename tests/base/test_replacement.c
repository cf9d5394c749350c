/* SPDX-License-Identifier: MIT */
/*
 * A file gets its place when it is whole, and nothing is left of one that is not.
 */
#include "base/replacement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
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

/* The folder holds the file with these bytes, and nothing else; removes both. */
static void end_place(const struct place *place, const char *bytes)
{
	struct etw_error err = { 0 };
	struct os_file *file = os_file_open(place->path, &err);
	char found[16];
	size_t size = 0, files = 0;

	assert_non_null(file);
	assert_true(os_file_read(file, 0, found, sizeof found, &size, &err));
	os_file_close(file);
	assert_int_equal(size, strlen(bytes));
	assert_memory_equal(found, bytes, size);
	os_folder_list(place->folder, count, &files);
	assert_int_equal(files, 1);
	assert_true(os_file_remove(place->path, &err));
	assert_true(system_remove_folder(place->folder));
}

static void a_whole_file_takes_the_place_of_the_former_one(void **state)
{
	struct place place;
	struct etw_error err = { 0 };

	(void)state;
	make_place(&place);
	assert_true(replacement_write_whole(place.path, "new", 3, &err));
	end_place(&place, "new");
}

/* The place with the former file, and another one beside it. */
static void begin_replacement(struct replacement *replacement, struct place *place)
{
	struct etw_error err = { 0 };

	make_place(place);
	assert_true(replacement_init(replacement, place->path, &err));
	assert_string_equal(replacement->path, place->path);
	assert_true(os_file_write_whole(replacement->temporary, "new", 3, &err));
}

static void without_an_end_the_former_file_stays(void **state)
{
	struct replacement replacement = { 0 };
	struct place place;

	(void)state;
	begin_replacement(&replacement, &place);
	replacement_done(&replacement);
	replacement_done(&replacement); /* again: nothing */
	end_place(&place, "former");
}

static void a_file_that_has_its_place_is_not_removed(void **state)
{
	struct replacement replacement = { 0 };
	struct place place;
	struct etw_error err = { 0 };

	(void)state;
	begin_replacement(&replacement, &place);
	assert_true(replacement_finish(&replacement, &err));
	replacement_done(&replacement);
	end_place(&place, "new");
}

static void each_has_a_name_of_its_own(void **state)
{
	struct replacement a = { 0 }, b = { 0 };
	struct place place;
	struct etw_error err = { 0 };

	(void)state;
	begin_replacement(&a, &place);
	assert_true(replacement_init(&b, place.path, &err));
	assert_string_not_equal(a.temporary, b.temporary);
	/* Of one beside another, too: the file between two steps is written like any other. */
	replacement_done(&b);
	assert_true(replacement_init(&b, a.temporary, &err));
	assert_true(os_file_write_whole(b.temporary, "newer", 5, &err));
	assert_true(replacement_finish(&b, &err));
	replacement_done(&b);
	assert_true(replacement_finish(&a, &err));
	replacement_done(&a);
	end_place(&place, "newer");
}

static void an_error_names_the_path_and_leaves_nothing(void **state)
{
	struct place place;
	struct etw_error err = { 0 };
	char inside[3 * TEMPORARY_PATH_SIZE];

	(void)state;
	make_place(&place);
	snprintf(inside, sizeof inside, "%s/nowhere/a.html", place.folder);
	assert_false(replacement_write_whole(inside, "new", 3, &err));
	assert_ptr_equal(strstr(err.text, inside), err.text);
	end_place(&place, "former");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_takes_the_place_of_the_former_one),
		cmocka_unit_test(without_an_end_the_former_file_stays),
		cmocka_unit_test(a_file_that_has_its_place_is_not_removed),
		cmocka_unit_test(each_has_a_name_of_its_own),
		cmocka_unit_test(an_error_names_the_path_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
