/* SPDX-License-Identifier: MIT */
/*
 * Text is UTF-16 in Windows and UTF-8 everywhere else. Functions whose name ends in A, and C
 * library functions that take a path, use the ANSI code page and are not used in the program.
 */
#include "base/os.h"

#include <windows.h>

#include <io.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os_win32.h"

#define ERROR_TEXT_SIZE 256

void os_error_text(int number, char *text, size_t text_size)
{
	wchar_t wide[ERROR_TEXT_SIZE];
	DWORD size = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
					    FORMAT_MESSAGE_MAX_WIDTH_MASK,
				    NULL, (DWORD)number, 0, wide, ERROR_TEXT_SIZE, NULL);
	char *utf8;

	while (size > 0 && (wide[size - 1] <= L' ' || wide[size - 1] == L'.')) {
		size--;
	}
	wide[size] = L'\0';
	utf8 = size > 0 ? narrow_from(wide) : NULL;
	if (utf8) {
		snprintf(text, text_size, "%s", utf8);
	} else {
		snprintf(text, text_size, "error %d", number);
	}
	free(utf8);
}

/* "Winsock Error Codes" and "Using SO_REUSEADDR and SO_EXCLUSIVEADDRUSE", Microsoft Learn. */
const char *os_listen_advice(int number)
{
	switch (number) {
	case WSAEADDRINUSE:
		return "another program listens there; \"netstat -ano -p tcp\" shows its process id";
	case WSAEACCES:
		return "another account uses the port exclusively, or Windows has reserved it; "
		       "\"netsh int ipv4 show excludedportrange protocol=tcp\" shows what is "
		       "reserved";
	default:
		return NULL;
	}
}

wchar_t *wide_from(const char *text)
{
	int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
	wchar_t *wide = size > 0 ? calloc((size_t)size, sizeof *wide) : NULL;

	if (wide && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, size) == 0) {
		free(wide);
		return NULL;
	}
	return wide;
}

char *narrow_from(const wchar_t *wide)
{
	int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
	char *text = size > 0 ? calloc((size_t)size, 1) : NULL;

	if (text && WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL) == 0) {
		free(text);
		return NULL;
	}
	return text;
}

void *os_utf8_start(void)
{
	return NULL;
}

void os_utf8_end(void *started)
{
	(void)started;
}

bool error_set_last(struct etw_error *err, const char *what)
{
	char text[ERROR_TEXT_SIZE];

	os_error_text((int)GetLastError(), text, sizeof text);
	return error_set(err, ETW_ERROR_SYSTEM, "%s: %s", what, text);
}

/* ---- standard streams and the console ---- */

/* The error of Windows is used, because the C library maps only ERROR_BROKEN_PIPE to EPIPE and most
 * other errors of pipes to EINVAL. */
bool os_reader_is_gone(void)
{
	switch (_doserrno) {
	case ERROR_BROKEN_PIPE:
	case ERROR_NO_DATA: /* "The pipe is being closed." */
	case ERROR_PIPE_NOT_CONNECTED:
		return true;
	case ERROR_SUCCESS: /* only a part was written; Wine reports this when the reader closes the
			       pipe meanwhile */
		return GetFileType(GetStdHandle(STD_OUTPUT_HANDLE)) == FILE_TYPE_PIPE;
	default:
		return false;
	}
}

bool os_is_terminal(FILE *stream)
{
	DWORD mode;

	return GetConsoleMode((HANDLE)_get_osfhandle(_fileno(stream)), &mode) != 0;
}

bool os_is_file(FILE *stream)
{
	return GetFileType((HANDLE)_get_osfhandle(_fileno(stream))) == FILE_TYPE_DISK;
}

/* Consoles support colours since Windows 10, if a program enables them ("Console Virtual Terminal
 * Sequences", Microsoft Learn). */
bool os_has_colours(FILE *stream)
{
	HANDLE console = (HANDLE)_get_osfhandle(_fileno(stream));
	DWORD mode;

	return GetConsoleMode(console, &mode) &&
	       SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

static UINT console_code_page; /* before console_utf8(); 0: it was not changed */

void console_restore(void)
{
	if (console_code_page != 0) {
		SetConsoleOutputCP(console_code_page);
		console_code_page = 0;
	}
}

/*
 * The code page belongs to the console, so shells and later programs would keep it ("Console Code
 * Pages", Microsoft Learn). Without a console it is 0.
 */
void console_utf8(void)
{
	UINT code_page = GetConsoleOutputCP();

	if (code_page != 0 && code_page != CP_UTF8 && console_code_page == 0 &&
	    SetConsoleOutputCP(CP_UTF8)) {
		console_code_page = code_page;
		atexit(console_restore);
	}
}

void os_stderr_write(const char *bytes, size_t size)
{
	HANDLE handle = GetStdHandle(STD_ERROR_HANDLE);

	while (size > 0) {
		DWORD part = size < UINT32_MAX ? (DWORD)size : UINT32_MAX;
		DWORD written = 0;

		if (!WriteFile(handle, bytes, part, &written, NULL) || written == 0) {
			return;
		}
		bytes += written;
		size -= written;
	}
}
