/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/failing_memory.h"

#include <stddef.h>

/* Names that the linker gives: "--wrap=symbol", manual of GNU ld. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned left; /* allocations up to the one that fails; 0: none does */
static bool failed;

static bool fails(void)
{
	if (left == 0 || --left > 0) {
		return false;
	}
	failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void failing_memory_start(unsigned number)
{
	left = number;
	failed = false;
}

bool failing_memory_stop(void)
{
	left = 0;
	return failed;
}
