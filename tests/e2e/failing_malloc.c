/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD: one allocation of a program fails, that with the number in
 * FAILING_MALLOC, the first being 1. At the end the number of all is written to the file in
 * FAILING_MALLOC_COUNT.
 *
 * Allocations inside the C library do not come here, except for those that it makes by the public
 * names; those of the other libraries do. glibc exports its own functions under a second name, so
 * nothing has to be looked up.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static atomic_ulong made;
static unsigned long failing; /* 0: none */

__attribute__((constructor)) static void start(void)
{
	const char *number = getenv("FAILING_MALLOC");

	failing = number ? strtoul(number, NULL, 10) : 0;
	atomic_store(&made, 0); /* what the libraries did before main() does not count */
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAILING_MALLOC_COUNT");
	unsigned long count = atomic_load(&made);
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%lu\n", count);
		fclose(file);
	}
}

static bool fails(void)
{
	if (atomic_fetch_add(&made, 1) + 1 != failing) {
		return false;
	}
	errno = ENOMEM; /* glibc relies on it */
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}
