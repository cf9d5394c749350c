/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a test tries all of its inputs. The optimised build on Linux does, and with
 * LONG_TESTS=1 in the environment every build. A build with sanitizers, which is several times
 * slower, and one for Windows, which Wine runs, try a part of them.
 */
#ifndef SUPPORT_THOROUGH_H
#define SUPPORT_THOROUGH_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_thorough(void)
{
	const char *long_tests = getenv("LONG_TESTS");

	if (long_tests && strcmp(long_tests, "0") != 0) {
		return true;
	}
#ifdef _WIN32
	return false;
#else
	const char *sanitizers = getenv("SANITIZERS");

	return !sanitizers || !*sanitizers;
#endif
}

#endif
