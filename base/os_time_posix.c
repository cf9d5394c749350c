/* SPDX-License-Identifier: MIT */
/* The clocks of Linux. */
#include "base/os.h"

#include "base/os_posix.h"

uint64_t os_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t os_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t os_thread_cpu_ns_of(const struct os_thread *thread)
{
	clockid_t clock;

	/* For a thread that has ended this fails with ESRCH, or reading the clock fails with
	 * EINVAL. */
	if (pthread_getcpuclockid(thread->handle, &clock) != 0) {
		return 0;
	}
	return clock_ns(clock);
}

uint64_t os_unix_time_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void os_utc(time_t unix_seconds, struct tm *utc)
{
	*utc = (struct tm){ 0 };
	gmtime_r(&unix_seconds, utc);
}
