/* SPDX-License-Identifier: MIT */
/* Standard streams and the console of Windows. */
#include "base/os.h"

#include <io.h>
#include <stdlib.h>
#include <windows.h>

#include "base/os_win32.h"

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
