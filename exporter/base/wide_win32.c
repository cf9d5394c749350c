/* SPDX-License-Identifier: MIT */
#include "base/wide_win32.h"

#include <stdlib.h>
#include <windows.h>

#include "base/os.h"

enum { ERROR_TEXT_SIZE = 256 };

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

bool error_set_last(struct error *err, const char *what)
{
	char text[ERROR_TEXT_SIZE];

	os_error_text((int)GetLastError(), text, sizeof text);
	return error_set(err, ERROR_SYSTEM, "%s: %s", what, text);
}
