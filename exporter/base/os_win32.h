/* SPDX-License-Identifier: MIT */
/*
 * Between the UTF-16 of Windows and the UTF-8 of everything else, for *_win32.c.
 */
#ifndef BASE_OS_WIN32_H
#define BASE_OS_WIN32_H

#include <stdbool.h>
#include <wchar.h>

#include "base/error.h"

/* To be freed; NULL without memory, or when it is not UTF-8. */
wchar_t *wide_from(const char *text);

/* To be freed; NULL without memory. A lone surrogate becomes U+FFFD. */
char *narrow_from(const wchar_t *wide);

/* The path of this program, to be freed; NULL without memory. */
wchar_t *wide_program_path(void);

/* Sets "<what>: <the system's sentence>" for GetLastError(). Returns false. */
bool error_set_last(struct error *err, const char *what);

#endif
