/* SPDX-License-Identifier: MIT */
/*
 * Helpers for *_win32.c beyond os.h: conversion between UTF-8 and UTF-16, errors of Windows, times.
 */
#ifndef BASE_OS_WIN32_H
#define BASE_OS_WIN32_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>
#include <windows.h>

#include "base/error.h"

enum { PATH_CHARACTERS = 32768 }; /* longest path of Windows, in UTF-16 units, with its NUL */

/* Converts UTF-8 to UTF-16. The caller frees the result; NULL when memory runs out, or if the text
 * is not UTF-8. */
wchar_t *wide_from(const char *text);

/* Returns the absolute path in UTF-16, which the caller frees; NULL when memory runs out, or if the
 * working directory is not known. */
wchar_t *wide_absolute(const char *path);

/* Converts UTF-16 to UTF-8. The caller frees the result; NULL when memory runs out. An unpaired
 * surrogate becomes U+FFFD. */
char *narrow_from(const wchar_t *wide);

/* Returns the path of this program, which the caller frees; NULL when memory runs out. */
wchar_t *wide_program_path(void);

/* Sets the code page of the console to UTF-8 until the program ends. */
void console_utf8(void);

/* Restores the former code page of the console. It is called automatically when the program ends.
 */
void console_restore(void);

/* Sets "<what>: <text of the system>" for GetLastError(). Returns false. */
bool error_set_last(struct etw_error *err, const char *what);

/* Converts a FILETIME to a number: 100 ns since 1601 UTC, or a duration in units of 100 ns. */
uint64_t filetime_100ns(const FILETIME *time);
/* Converts a FILETIME to nanoseconds since 1970 UTC. */
uint64_t filetime_unix_ns(const FILETIME *time);

/* Converts a timeout to milliseconds for the wait functions of Windows: rounded up, some weeks at
 * most, never INFINITE. */
static inline DWORD whole_ms(uint64_t timeout_ns)
{
	const uint64_t ns_per_ms = 1000000;
	uint64_t ms = timeout_ns / ns_per_ms + (timeout_ns % ns_per_ms > 0);

	return ms < INFINITE ? (DWORD)ms : INFINITE - 1;
}

#endif
