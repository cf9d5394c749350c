/* SPDX-License-Identifier: MIT */
/*
 * What base/os.h promises of Windows alone: UTF-8 paths, files that others go on using.
 */
#include "base/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include <cmocka.h>

#include "base/os_win32.h"
#include "tests/support/temporary.h"

static void a_path_is_utf8(void **state)
{
	static const char name[] = "temporary-\xc3\xa9\xe2\x82\xac\xf0\x9f\x93\x88.etl";
	HANDLE writer = CreateFileW(L"temporary-\x00e9\x20ac\xd83d\xdcc8.etl", GENERIC_WRITE, 0,
				    NULL, CREATE_ALWAYS, 0, NULL);
	struct os_file *file;
	struct error err = { 0 };

	(void)state;
	assert_true(writer != INVALID_HANDLE_VALUE);
	CloseHandle(writer);
	file = os_file_open(name, &err);
	assert_string_equal(err.text, "");
	assert_non_null(file);
	os_file_close(file);
	assert_true(DeleteFileW(L"temporary-\x00e9\x20ac\xd83d\xdcc8.etl"));
	assert_null(os_file_open("\xff.etl", &err));
	assert_string_equal(err.text, "cannot be opened: its name is not UTF-8");
}

static void a_recording_may_be_written_renamed_and_deleted_while_it_is_read(void **state)
{
	char path[TEMPORARY_PATH_SIZE], other[TEMPORARY_PATH_SIZE], bytes[16];
	struct os_file *file;
	DWORD written;
	HANDLE writer;
	size_t got;

	(void)state;
	temporary_path(path, "etl");
	temporary_path(other, "etl");
	writer = CreateFileA(path, GENERIC_WRITE | DELETE,
			     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			     CREATE_ALWAYS, 0, NULL);
	assert_true(writer != INVALID_HANDLE_VALUE);
	assert_true(WriteFile(writer, "0123", 4, &written, NULL));
	file = os_file_open(path, NULL);
	assert_non_null(file);
	assert_true(WriteFile(writer, "4567", 4, &written, NULL));
	CloseHandle(writer);
	assert_true(MoveFileA(path, other));
	assert_true(DeleteFileA(other));
	assert_true(os_file_read(file, 1, bytes, sizeof bytes, &got, NULL));
	assert_int_equal(got, 3);
	assert_memory_equal(bytes, "123", 3);
	os_file_close(file);
}

static void devices_are_no_files(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_null(os_file_open("NUL", &err));
	assert_string_equal(err.text, "is a device, pipe or socket, not a regular file");
}

static void an_error_number_has_a_sentence(void **state)
{
	char text[128];

	(void)state;
	os_error_text(ERROR_ACCESS_DENIED, text, sizeof text);
	assert_true(strlen(text) > 5);
	assert_true(text[strlen(text) - 1] != '.' && text[strlen(text) - 1] != '\n');
	os_error_text(0x7ffffff, text, sizeof text);
	assert_string_equal(text, "error 134217727");
}

/* 10013 says "access", and no page of Windows connects it with reserved ports. */
static void a_port_that_cannot_be_used_comes_with_advice(void **state)
{
	(void)state;
	assert_non_null(strstr(os_listen_advice(10013), "Windows has reserved it"));
	assert_non_null(strstr(os_listen_advice(10013),
			       "\"netsh int ipv4 show excludedportrange protocol=tcp\""));
	assert_non_null(strstr(os_listen_advice(10048), "another program listens there"));
	assert_null(os_listen_advice(10049)); /* not an address of this machine */
}

/* Under Wine there is a console in a terminal only: tests/e2e/windows.sh runs this test in one. */
static void a_console_shows_utf_8_and_is_left_as_it_was(void **state)
{
	(void)state;
	if (GetConsoleOutputCP() == 0) {
		console_utf8(); /* does nothing */
		console_restore();
		skip();
	}
	assert_true(SetConsoleOutputCP(850));
	console_utf8();
	assert_int_equal(GetConsoleOutputCP(), CP_UTF8);
	console_utf8();
	console_restore();
	assert_int_equal(GetConsoleOutputCP(), 850);
	console_restore();
	assert_int_equal(GetConsoleOutputCP(), 850);
}

static void stop_after_reload(void *context)
{
	++*(unsigned *)context;
	os_stop_ask("reloaded");
}

/* As the control of a service does it. */
static void the_program_asks_itself_to_reload(void **state)
{
	struct error err = { 0 };
	unsigned count = 0;

	(void)state;
	assert_true(os_stop_catch_service(&err));
	os_reload_ask();
	assert_string_equal(os_stop_wait(stop_after_reload, &count), "reloaded");
	assert_int_equal(count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_utf8),
		cmocka_unit_test(a_recording_may_be_written_renamed_and_deleted_while_it_is_read),
		cmocka_unit_test(devices_are_no_files),
		cmocka_unit_test(an_error_number_has_a_sentence),
		cmocka_unit_test(a_port_that_cannot_be_used_comes_with_advice),
		cmocka_unit_test(the_program_asks_itself_to_reload),
		cmocka_unit_test(a_console_shows_utf_8_and_is_left_as_it_was),
	};

	return cmocka_run_group_tests_name("os_win32", tests, NULL, NULL);
}
