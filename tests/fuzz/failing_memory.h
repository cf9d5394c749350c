/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail: malloc, calloc and realloc of everything that is linked in; not those of
 * libraries. One thread only.
 */
#ifndef FUZZ_FAILING_MEMORY_H
#define FUZZ_FAILING_MEMORY_H

#include <stdbool.h>

/* The allocation of this number from here on fails, the next one being 1; 0: none does. */
void failing_memory_start(unsigned number);

/* No more fails. Whether one has. */
bool failing_memory_stop(void);

#endif
