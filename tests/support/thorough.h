/* SPDX-License-Identifier: MIT */
/*
 * How much of an endless variety a test tries. The optimised build on Linux, and with LONG_TESTS in
 * the environment every build, tries all that the test has; a build with sanitizers, which is
 * several times slower, and one that runs under Wine try a part of it.
 */
#ifndef SUPPORT_THOROUGH_H
#define SUPPORT_THOROUGH_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool is_thorough(void)
{
#ifdef _WIN32
	return getenv("LONG_TESTS");
#else
	const char *sanitizers = getenv("SANITIZERS");

	return !sanitizers || !*sanitizers || getenv("LONG_TESTS");
#endif
}

#endif
