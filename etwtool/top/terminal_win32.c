/* SPDX-License-Identifier: MIT */
/*
 * A console of Windows 10 or newer. It supports the same control sequences as other terminals after
 * they are enabled. Keys are read as records of the console, not as bytes, so the only mode of
 * input needed is one without lines and echo. Ctrl-C and a closed console arrive as requests to
 * stop (os_stop_catch()), on a thread of the system; so the loop waits in short slices and checks
 * for them. Older consoles do not support the sequences: terminal_is_here() is false.
 */
#include "etwtool/top/top.h"

#include <stdlib.h>
#include <windows.h>

#include "base/os.h"
#include "base/utf8.h"

enum { SLICE_MS = 50, NS_PER_MS = 1000000 };

struct terminal {
	HANDLE input, output;
	DWORD input_before, output_before;
	uint16_t high; /* first half of a UTF-16 surrogate pair; 0: none */
	bool gone;
};

bool terminal_is_here(void)
{
	HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
	DWORD mode, before;
	bool takes;

	if (!GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &mode) ||
	    !GetConsoleMode(output, &before)) {
		return false;
	}
	takes = SetConsoleMode(output, before | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
	SetConsoleMode(output, before);
	return takes;
}

bool terminal_write(struct terminal *terminal, const char *bytes, size_t size)
{
	while (size > 0 && !terminal->gone) {
		DWORD written = 0;
		DWORD part = size < 32768 ? (DWORD)size : 32768;

		terminal->gone = !WriteFile(terminal->output, bytes, part, &written, NULL) ||
				 written == 0;
		bytes += written;
		size -= written;
	}
	return !terminal->gone;
}

struct terminal *terminal_open(struct etw_error *err)
{
	struct terminal *terminal = calloc(1, sizeof *terminal);

	if (!terminal) {
		error_no_memory(err, "the terminal");
		return NULL;
	}
	terminal->input = GetStdHandle(STD_INPUT_HANDLE);
	terminal->output = GetStdHandle(STD_OUTPUT_HANDLE);
	if (!GetConsoleMode(terminal->input, &terminal->input_before) ||
	    !GetConsoleMode(terminal->output, &terminal->output_before) ||
	    !SetConsoleMode(terminal->output,
			    terminal->output_before | ENABLE_VIRTUAL_TERMINAL_PROCESSING)) {
		error_set(err, ETW_ERROR_SYSTEM, "the console cannot be used");
		free(terminal);
		return NULL;
	}
	/*
	 * ENABLE_PROCESSED_INPUT stays on, so that Ctrl-C is a request to stop. Quick edit is off,
	 * because a click that begins a selection would halt the output.
	 */
	SetConsoleMode(terminal->input,
		       ENABLE_PROCESSED_INPUT | ENABLE_WINDOW_INPUT | ENABLE_EXTENDED_FLAGS);
	terminal_write(terminal, TERMINAL_SCREEN_ON, sizeof TERMINAL_SCREEN_ON - 1);
	return terminal;
}

void terminal_close(struct terminal *terminal)
{
	if (!terminal) {
		return;
	}
	terminal_write(terminal, TERMINAL_SCREEN_OFF, sizeof TERMINAL_SCREEN_OFF - 1);
	FlushConsoleInputBuffer(terminal->input);
	SetConsoleMode(terminal->input, terminal->input_before);
	SetConsoleMode(terminal->output, terminal->output_before);
	free(terminal);
}

void terminal_size(const struct terminal *terminal, unsigned *columns, unsigned *rows)
{
	CONSOLE_SCREEN_BUFFER_INFO info;
	bool known = GetConsoleScreenBufferInfo(terminal->output, &info);
	int width = known ? info.srWindow.Right - info.srWindow.Left + 1 : 80;
	int height = known ? info.srWindow.Bottom - info.srWindow.Top + 1 : 24;

	*columns = width > 0 ? (unsigned)width : 80;
	*rows = height > 0 ? (unsigned)height : 24;
}

static uint32_t key_of_code(WORD code)
{
	switch (code) {
	case VK_UP:
		return KEY_UP;
	case VK_DOWN:
		return KEY_DOWN;
	case VK_LEFT:
		return KEY_LEFT;
	case VK_RIGHT:
		return KEY_RIGHT;
	case VK_PRIOR:
		return KEY_PAGE_UP;
	case VK_NEXT:
		return KEY_PAGE_DOWN;
	case VK_HOME:
		return KEY_HOME;
	case VK_END:
		return KEY_END;
	default:
		return KEY_NONE;
	}
}

/* Returns the key of an event; KEY_NONE for half a character, or for a key that is not used. */
static uint32_t key_of(struct terminal *terminal, const KEY_EVENT_RECORD *event)
{
	uint16_t unit = (uint16_t)event->uChar.UnicodeChar;
	uint32_t key = unit;

	if (unit == 0) {
		return key_of_code(event->wVirtualKeyCode);
	}
	if (unit >= 0xd800 && unit < 0xdc00) {
		terminal->high = unit;
		return KEY_NONE;
	}
	if (unit >= 0xdc00 && unit < 0xe000) {
		key = terminal->high ?
			      0x10000 + ((terminal->high - 0xd800u) << 10) + (unit - 0xdc00u) :
			      UTF8_REPLACEMENT;
	}
	terminal->high = 0;
	return key == '\r' ? '\n' : key;
}

/* Takes one record; returns TERMINAL_TIMEOUT if it is not of interest. */
static enum terminal_event read_record(struct terminal *terminal, uint32_t *key)
{
	INPUT_RECORD record;
	DWORD count = 0;

	if (!ReadConsoleInputW(terminal->input, &record, 1, &count) || count == 0) {
		return TERMINAL_STOP;
	}
	if (record.EventType == WINDOW_BUFFER_SIZE_EVENT) {
		return TERMINAL_REDRAW;
	}
	if (record.EventType != KEY_EVENT || !record.Event.KeyEvent.bKeyDown) {
		return TERMINAL_TIMEOUT;
	}
	*key = key_of(terminal, &record.Event.KeyEvent);
	return *key == KEY_NONE ? TERMINAL_TIMEOUT : TERMINAL_KEY;
}

enum terminal_event terminal_wait(struct terminal *terminal, uint64_t timeout_ns, uint32_t *key)
{
	uint64_t start = os_monotonic_ns();
	enum terminal_event event = TERMINAL_TIMEOUT;
	uint64_t passed;

	*key = KEY_NONE;
	do {
		uint64_t left_ms;

		passed = os_monotonic_ns() - start;
		left_ms = passed < timeout_ns ? (timeout_ns - passed) / NS_PER_MS + 1 : 0;
		if (terminal->gone || os_stop_wait(0, NULL, NULL)) {
			return TERMINAL_STOP;
		}
		if (WaitForSingleObject(terminal->input,
					left_ms < SLICE_MS ? (DWORD)left_ms : SLICE_MS) ==
		    WAIT_OBJECT_0) {
			event = read_record(terminal, key);
		}
	} while (event == TERMINAL_TIMEOUT && passed < timeout_ns);
	return event;
}
