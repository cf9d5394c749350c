/* SPDX-License-Identifier: MIT */
/*
 * Runs the activity of the self-test on the system: it reports what it did, and removes its files.
 */
#include "windows/self_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <cmocka.h>

static unsigned temporary_files(void)
{
	WCHAR pattern[MAX_PATH + 16];
	WIN32_FIND_DATAW entry;
	HANDLE search;
	unsigned count = 0;

	GetTempPathW(MAX_PATH, pattern);
	wcscat(pattern, L"etw*.tmp");
	search = FindFirstFileW(pattern, &entry);
	if (search == INVALID_HANDLE_VALUE) {
		return 0;
	}
	do {
		count++;
	} while (FindNextFileW(search, &entry));
	FindClose(search);
	return count;
}

static void the_activity_says_what_it_did(void **state)
{
	struct activity done = { 0 };
	struct error err = { 0 };
	unsigned files = temporary_files();

	(void)state;
	assert_true(activity_run(NULL, &done, &err));
	assert_int_equal(done.processes, 1);
	assert_int_equal(done.written_bytes, 64 * 4096);
	assert_int_equal(done.read_bytes, 64 * 4096);
	assert_int_equal(done.deletes, 1);
	assert_int_equal(done.sent_bytes, 64 * 4096);
	assert_int_equal(done.received_bytes, 64 * 4096);
	assert_int_equal(done.connects, 1);
	assert_int_equal(done.accepts, 1);
	assert_int_equal(temporary_files(), files);
}

static void the_process_is_named_as_the_label_has_it(void **state)
{
	char *process = activity_process(NULL);

	(void)state;
	assert_non_null(process);
	assert_string_equal(process, "test_activity_win32");
	free(process);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_activity_says_what_it_did),
		cmocka_unit_test(the_process_is_named_as_the_label_has_it),
	};

	/* The child that the activity starts: this program again. */
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		return 0;
	}
	return cmocka_run_group_tests_name("activity_win32", tests, NULL, NULL);
}
