/* SPDX-License-Identifier: MIT */
/*
 * What base/print.h promises about pipes, with pipes of Windows.
 */
#include "base/print.h"

#include <fcntl.h>
#include <io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <windows.h>

#include <cmocka.h>

/* Prints with the handle in place of standard output, which the test needs for itself. */
static bool print_to(HANDLE output, struct etw_error *err)
{
	int number = _fileno(stdout), before, replaced;
	bool printed;

	fflush(stdout);
	before = _dup(number);
	replaced = _open_osfhandle((intptr_t)output, _O_BINARY);
	_dup2(replaced, number);
	printed = print_bytes("line\n", 5, err);
	clearerr(stdout);
	_dup2(before, number);
	_close(before);
	_close(replaced);
	return printed;
}

static void a_reader_that_closes_the_pipe_has_seen_enough(void **state)
{
	struct etw_error err = { 0 };
	HANDLE read_end, write_end;

	(void)state;
	assert_true(CreatePipe(&read_end, &write_end, NULL, 0));
	CloseHandle(read_end);
	assert_false(print_to(write_end, &err));
	assert_int_equal(err.code, ETW_ERROR_NONE);
}

static void what_cannot_be_written_is_an_error(void **state)
{
	struct etw_error err = { 0 };
	HANDLE read_end, write_end;

	(void)state;
	assert_true(CreatePipe(&read_end, &write_end, NULL, 0));
	assert_false(print_to(read_end, &err)); /* an end that cannot be written to */
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	CloseHandle(write_end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_that_closes_the_pipe_has_seen_enough),
		cmocka_unit_test(what_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests_name("print_win32", tests, NULL, NULL);
}
