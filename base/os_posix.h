/* SPDX-License-Identifier: MIT */
/*
 * Helpers that the files os_*_posix.c share.
 */
#ifndef BASE_OS_POSIX_H
#define BASE_OS_POSIX_H

#include <assert.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* These calls only fail after a mistake in our own code, such as a lock that is not initialised. */
static inline void must_succeed(int result)
{
	assert(result == 0);
	(void)result;
}

static inline uint64_t timespec_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_SECOND + (uint64_t)time->tv_nsec;
}

/* Returns 0 if the clock cannot be read. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) == 0 ? timespec_ns(&now) : 0;
}

#endif
