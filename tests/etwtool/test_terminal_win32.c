/* SPDX-License-Identifier: MIT */
/*
 * What etwtool/top/top.h promises of a console of Windows: keys, sizes, and modes that are
 * restored.
 *
 * Under Wine there is a console in a terminal only: tests/e2e/windows.sh runs this test in one.
 */
#include "etwtool/top/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <windows.h>

#include <cmocka.h>

#include "base/os.h"
#include "tests/support/patience.h"

#define WAIT_NS ((uint64_t)WAIT_MS * 1000000)

static HANDLE input, output;

/* The console, also when the output of the test goes to a file. */
static int find_console(void **state)
{
	const DWORD access = GENERIC_READ | GENERIC_WRITE,
		    share = FILE_SHARE_READ | FILE_SHARE_WRITE;

	(void)state;
	input = CreateFileW(L"CONIN$", access, share, NULL, OPEN_EXISTING, 0, NULL);
	output = CreateFileW(L"CONOUT$", access, share, NULL, OPEN_EXISTING, 0, NULL);
	if (output != INVALID_HANDLE_VALUE) {
		SetStdHandle(STD_INPUT_HANDLE, input);
		SetStdHandle(STD_OUTPUT_HANDLE, output);
	}
	return os_stop_catch(NULL) ? 0 : -1;
}

static DWORD mode_of(HANDLE console)
{
	DWORD mode = 0;

	assert_true(GetConsoleMode(console, &mode));
	return mode;
}

/* A key that is pressed and released. */
static void press(WORD code, wchar_t unit)
{
	INPUT_RECORD keys[2] = { { .EventType = KEY_EVENT }, { .EventType = KEY_EVENT } };
	DWORD written;

	for (int i = 0; i < 2; i++) {
		keys[i].Event.KeyEvent = (KEY_EVENT_RECORD){
			.bKeyDown = i == 0,
			.wRepeatCount = 1,
			.wVirtualKeyCode = code,
			.uChar.UnicodeChar = unit,
		};
	}
	assert_true(WriteConsoleInputW(input, keys, 2, &written) && written == 2);
}

/* The next key; the console may report its size meanwhile. */
static uint32_t next_key(struct terminal *terminal)
{
	enum terminal_event event;
	uint32_t key;

	do {
		event = terminal_wait(terminal, WAIT_NS, &key);
	} while (event == TERMINAL_REDRAW);
	assert_int_equal(event, TERMINAL_KEY);
	return key;
}

static void keys_and_sizes_arrive_and_the_modes_are_given_back(void **state)
{
	INPUT_RECORD resize = { .EventType = WINDOW_BUFFER_SIZE_EVENT };
	DWORD input_before, output_before, written;
	struct terminal *terminal;
	struct etw_error err = { 0 };
	unsigned columns, rows;
	uint32_t key;

	(void)state;
	if (output == INVALID_HANDLE_VALUE) {
		assert_false(terminal_is_here());
		skip();
	}
	input_before = mode_of(input);
	output_before = mode_of(output);
	assert_true(terminal_is_here());
	assert_int_equal(mode_of(output), output_before);
	terminal = terminal_open(&err);
	assert_string_equal(err.text, "");
	assert_non_null(terminal);
	assert_int_equal(mode_of(input) & (ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT), 0);
	assert_true(mode_of(output) & ENABLE_VIRTUAL_TERMINAL_PROCESSING);
	terminal_size(terminal, &columns, &rows);
	assert_in_range(columns, 1, 10000);
	assert_in_range(rows, 1, 10000);
	assert_true(terminal_write(terminal, "\xc3\xa9", 2));

	press(0, L'q');
	press(VK_SHIFT, 0); /* means nothing alone */
	press(VK_PRIOR, 0);
	press(VK_RETURN, L'\r');
	press(0, 0xd83d); /* U+1F4C8, in two halves */
	press(0, 0xdcc8);
	press(0, 0xdcc8); /* a second half alone */
	assert_int_equal(next_key(terminal), 'q');
	assert_int_equal(next_key(terminal), KEY_PAGE_UP);
	assert_int_equal(next_key(terminal), '\n');
	assert_int_equal(next_key(terminal), 0x1f4c8);
	assert_int_equal(next_key(terminal), 0xfffd);

	assert_true(WriteConsoleInputW(input, &resize, 1, &written) && written == 1);
	assert_int_equal(terminal_wait(terminal, WAIT_NS, &key), TERMINAL_REDRAW);
	assert_int_equal(terminal_wait(terminal, 1, &key), TERMINAL_TIMEOUT);
	os_stop_ask("test");
	assert_int_equal(terminal_wait(terminal, WAIT_NS, &key), TERMINAL_STOP);
	terminal_close(terminal);
	assert_int_equal(mode_of(input), input_before);
	assert_int_equal(mode_of(output), output_before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_sizes_arrive_and_the_modes_are_given_back),
	};

	return cmocka_run_group_tests_name("terminal_win32", tests, find_console, NULL);
}
