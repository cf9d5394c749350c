/* SPDX-License-Identifier: MIT */
/* The few functions of kernel32 that need no fake under Windows. Empty there. */
#ifndef _WIN32
#include "tests/fake_etw/internal.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

static _Thread_local DWORD last_error;

DWORD WINAPI GetLastError(void)
{
	return last_error;
}

void WINAPI SetLastError(DWORD error)
{
	last_error = error;
}

BOOL WINAPI SetThreadErrorMode(DWORD mode, LPDWORD old)
{
	(void)mode;
	(void)old;
	return TRUE;
}

void WINAPI Sleep(DWORD milliseconds)
{
	struct timespec time = { .tv_sec = milliseconds / 1000,
				 .tv_nsec = (long)(milliseconds % 1000) * 1000000 };

	nanosleep(&time, NULL);
}

ULONGLONG WINAPI GetTickCount64(void)
{
	return fake_clock_monotonic_ns() / 1000000;
}

HANDLE WINAPI GetCurrentProcess(void)
{
	return INVALID_HANDLE_VALUE; /* as on Windows */
}

HANDLE WINAPI GetCurrentThread(void)
{
	return (HANDLE)(LONG_PTR)-2; /* as on Windows */
}

static _Thread_local int thread_priority;

int WINAPI GetThreadPriority(HANDLE thread)
{
	return thread == GetCurrentThread() ? thread_priority : THREAD_PRIORITY_ERROR_RETURN;
}

BOOL WINAPI SetThreadPriority(HANDLE thread, int priority)
{
	if (thread != GetCurrentThread()) {
		SetLastError(ERROR_INVALID_HANDLE);
		return FALSE;
	}
	thread_priority = priority;
	return TRUE;
}

DWORD WINAPI GetCurrentProcessId(void)
{
	return (DWORD)getpid();
}

DWORD WINAPI GetCurrentThreadId(void)
{
	static _Atomic DWORD next = 1000;
	static _Thread_local DWORD id;

	if (id == 0) {
		id = atomic_fetch_add(&next, 4);
	}
	return id;
}

int WINAPI MultiByteToWideChar(UINT code_page, DWORD flags, LPCSTR text, int size, LPWSTR wide,
			       int wide_size)
{
	size_t left = size < 0 ? strlen(text) + 1 : (size_t)size;
	int used = 0;

	if (code_page != CP_UTF8 || size == 0) {
		SetLastError(ERROR_INVALID_PARAMETER);
		return 0;
	}
	while (left > 0) {
		uint32_t codepoint;
		size_t step = utf8_decode(text, left, &codepoint);
		WCHAR units[2] = { (WCHAR)codepoint, 0 };
		int count = 1;

		if (codepoint == UTF8_REPLACEMENT && (flags & MB_ERR_INVALID_CHARS) != 0 &&
		    !(step == 3 && memcmp(text, "\xef\xbf\xbd", 3) == 0)) {
			SetLastError(ERROR_NO_UNICODE_TRANSLATION);
			return 0;
		}
		if (codepoint >= 0x10000) {
			units[0] = (WCHAR)(0xd800 + ((codepoint - 0x10000) >> 10));
			units[1] = (WCHAR)(0xdc00 + (codepoint & 0x3ff));
			count = 2;
		}
		if (wide_size > 0 && used + count > wide_size) {
			SetLastError(ERROR_INSUFFICIENT_BUFFER);
			return 0;
		}
		for (int i = 0; wide_size > 0 && i < count; i++) {
			wide[used + i] = units[i];
		}
		used += count;
		text += step;
		left -= step;
	}
	return used;
}

int WINAPI WideCharToMultiByte(UINT code_page, DWORD flags, LPCWSTR wide, int wide_size, LPSTR text,
			       int size, LPCSTR default_char, LPBOOL used_default)
{
	size_t count = wide_size < 0 ? fake_wide_length(wide) + 1 : (size_t)wide_size;
	int used = 0;

	if (code_page != CP_UTF8 || wide_size == 0 || default_char || used_default) {
		SetLastError(ERROR_INVALID_PARAMETER);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t codepoint = wide[i];
		char bytes[4];
		int length;

		if ((codepoint & 0xfc00) == 0xd800 && i + 1 < count &&
		    (wide[i + 1] & 0xfc00) == 0xdc00) {
			codepoint = 0x10000 + ((codepoint & 0x3ff) << 10) + (wide[++i] & 0x3ffu);
		} else if ((codepoint & 0xf800) == 0xd800 && (flags & WC_ERR_INVALID_CHARS) != 0) {
			SetLastError(ERROR_NO_UNICODE_TRANSLATION);
			return 0;
		}
		length = (int)utf8_encode(codepoint, bytes);
		if (size > 0 && used + length > size) {
			SetLastError(ERROR_INSUFFICIENT_BUFFER);
			return 0;
		}
		if (size > 0) {
			memcpy(text + used, bytes, (size_t)length);
		}
		used += length;
	}
	return used;
}
#else
typedef int fake_etw_native_is_empty;
#endif
