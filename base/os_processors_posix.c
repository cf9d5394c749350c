/* SPDX-License-Identifier: MIT */
/* A file of its own, because the declaration comes with others that os_posix.c must not have. */
#define _GNU_SOURCE /* sched_getaffinity(), CPU_COUNT() */
#include <sched.h>
#include <unistd.h>

#include "base/os.h"

unsigned os_processors(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
		return (unsigned)CPU_COUNT(&set);
	}
	online = sysconf(_SC_NPROCESSORS_ONLN); /* more of them than the set has room for */
	return online > 0 ? (unsigned)online : 1;
}
