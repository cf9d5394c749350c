/* SPDX-License-Identifier: MIT */
/*
 * What files *_win32.c need of the layer for Windows beyond os.h: UTF-16 from and to UTF-8, errors
 * of the system, times.
 */
#ifndef BASE_OS_WIN32_H
#define BASE_OS_WIN32_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>
#include <windows.h>

#include "base/error.h"

enum { PATH_CHARACTERS = 32768 }; /* the longest path of Windows, with its end */

/* The caller frees the result; NULL without memory, or if the text is not UTF-8. */
wchar_t *wide_from(const char *text);

/* The caller frees the result; NULL without memory. An unpaired surrogate becomes U+FFFD. */
char *narrow_from(const wchar_t *wide);

/* The path of this program; the caller frees it. NULL without memory. */
wchar_t *wide_program_path(void);

/* The console shows what the program writes as UTF-8 from now on, until the program ends. */
void console_utf8(void);

/* The console has the code page again that it had before. Runs by itself when the program ends. */
void console_restore(void);

/* Sets "<what>: <text of the system>" for GetLastError(). Returns false. */
bool error_set_last(struct etw_error *err, const char *what);

/* A FILETIME as a number: 100 ns since 1601, or since nothing if it is a duration. */
uint64_t filetime_100ns(const FILETIME *time);
/* The same time since 1970, in nanoseconds. */
uint64_t filetime_unix_ns(const FILETIME *time);

/* A timeout for the functions that wait: rounded up, some weeks at most, never INFINITE. */
static inline DWORD whole_ms(uint64_t timeout_ns)
{
	const uint64_t ns_per_ms = 1000000;
	uint64_t ms = timeout_ns / ns_per_ms + (timeout_ns % ns_per_ms > 0);

	return ms < INFINITE ? (DWORD)ms : INFINITE - 1;
}

#endif
