/* SPDX-License-Identifier: MIT */
/*
 * Between the UTF-16 of Windows and the UTF-8 of everything else, for *_win32.c.
 */
#ifndef BASE_OS_WIN32_H
#define BASE_OS_WIN32_H

#include <stdbool.h>
#include <wchar.h>

#include "base/error.h"

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

#endif
