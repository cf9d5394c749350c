/* SPDX-License-Identifier: MIT */
#include "base/files.h"

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

/* A folder with the file server.etl and the empty folder recordings. */
struct place {
	char folder[TEMPORARY_PATH_SIZE];
	char file[TEMPORARY_PATH_SIZE + 16], inner[TEMPORARY_PATH_SIZE + 16];
};

static int set_up(void **state)
{
	static struct place place;

	temporary_path(place.folder, "folder");
	snprintf(place.file, sizeof place.file, "%s/server.etl", place.folder);
	snprintf(place.inner, sizeof place.inner, "%s/recordings", place.folder);
	*state = &place;
	assert_true(system_make_folder(place.folder) && system_make_folder(place.inner));
	temporary_write(place.file, "", 0);
	return 0;
}

static int tear_down(void **state)
{
	const struct place *place = *state;

	return system_remove_file(place->file) && system_remove_folder(place->inner) &&
			       system_remove_folder(place->folder) ?
		       0 :
		       -1;
}

/* Rows have F in place of the folder. */
static void replace_folder(char *out, size_t size, const char *text, const char *folder)
{
	char *at = out;

	*at = '\0';
	for (; *text; text++) {
		at += snprintf(at, size - (size_t)(at - out), *text == 'F' ? "%s" : "%.1s",
			       *text == 'F' ? folder : text);
	}
}

static void what_was_meant_is_the_nearest_name_in_the_first_folder_that_exists(void **state)
{
	static const struct {
		const char *path, *suggested, *explained; /* NULL: the same */
	} cases[] = {
		{ "F/sevrer.etl", "; did you mean 'F/server.etl'?", NULL },
		{ "F/Server.etl", "; did you mean 'F/server.etl'?", NULL },
		{ "F/server", "; did you mean 'F/server.etl'?", NULL },
		{ "F/recordigns/", "; did you mean 'F/recordings'?", NULL },
		{ "F/recordigns/a.etl",
		  "; there is no folder 'F/recordigns'; did you mean 'F/recordings'?", NULL },
		{ "F/other/place/a.etl", "; there is no folder 'F/other'", NULL },
		{ "F/unlike", "", "; there is 'F/recordings', for example" },
		{ "F/recordings/a.etl", "", "; the folder is empty" },
		{ "F/*.man", "", "; there is 'F/recordings', for example" },
		/* What exists was meant: that it cannot be read has another reason. */
		{ "F/server.etl", "", NULL },
		{ "F/recordings", "", NULL },
	};
	const struct place *place = *state;
	char path[256], expected[256];

	for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
		bool examples = i % 2 == 1 && cases[i / 2].explained;
		struct etw_text out = { 0 };

		print_message("  %s\n", cases[i / 2].path);
		replace_folder(path, sizeof path, cases[i / 2].path, place->folder);
		replace_folder(expected, sizeof expected,
			       examples ? cases[i / 2].explained : cases[i / 2].suggested,
			       place->folder);
		if (i % 2 == 1) {
			missing_path_explain("", path, &out);
		} else {
			missing_path_suggest("", path, &out);
		}
		assert_string_equal(out.data ? out.data : "", expected);
		text_free(&out);
	}
}

static void a_relative_path_starts_beside_the_file_that_has_it(void **state)
{
	const struct place *place = *state;
	struct etw_text out = { 0 };

	missing_path_suggest(place->file, "sevrer.etl", &out);
	assert_string_equal(out.data, "; did you mean 'server.etl'?");
	text_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_was_meant_is_the_nearest_name_in_the_first_folder_that_exists, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_relative_path_starts_beside_the_file_that_has_it,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
