/* SPDX-License-Identifier: MIT */
/* The clocks of Windows. */
#include "base/os.h"

#include <windows.h>

#include "base/os_win32.h"

#define NS_PER_SECOND    UINT64_C(1000000000)
#define UNIX_EPOCH_100NS UINT64_C(116444736000000000) /* 1970 in FILETIME, counted from 1601 */

uint64_t filetime_100ns(const FILETIME *time)
{
	return (uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime;
}

uint64_t filetime_unix_ns(const FILETIME *time)
{
	return (filetime_100ns(time) - UNIX_EPOCH_100NS) * 100;
}

uint64_t os_monotonic_ns(void)
{
	LARGE_INTEGER frequency, now;
	uint64_t per_second, ticks;

	/* Neither fails on Windows XP or later ("QueryPerformanceCounter", Microsoft Learn). */
	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&now);
	per_second = (uint64_t)frequency.QuadPart;
	ticks = (uint64_t)now.QuadPart;
	return ticks / per_second * NS_PER_SECOND + ticks % per_second * NS_PER_SECOND / per_second;
}

static uint64_t cpu_ns_of(HANDLE thread)
{
	FILETIME created, ended, kernel, user;

	if (!GetThreadTimes(thread, &created, &ended, &kernel, &user)) {
		return 0;
	}
	return (filetime_100ns(&kernel) + filetime_100ns(&user)) * 100;
}

uint64_t os_thread_cpu_ns(void)
{
	return cpu_ns_of(GetCurrentThread());
}

uint64_t os_thread_cpu_ns_of(const struct os_thread *thread)
{
	return WaitForSingleObject(thread->handle, 0) == WAIT_TIMEOUT ? cpu_ns_of(thread->handle) :
									0;
}

uint64_t os_unix_time_ns(void)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	return filetime_unix_ns(&now);
}

void os_utc(time_t unix_seconds, struct tm *utc)
{
	*utc = (struct tm){ 0 };
	gmtime_s(utc, &unix_seconds);
}
