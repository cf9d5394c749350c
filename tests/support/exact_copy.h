/* SPDX-License-Identifier: MIT */
/*
 * A copy of test input in a heap block that ends with it, so that the sanitizers see a read of one
 * byte too many.
 */
#ifndef SUPPORT_EXACT_COPY_H
#define SUPPORT_EXACT_COPY_H

#include <stddef.h>

/* To be freed; never NULL, not even for size 0 (a block of which no byte may be read). Ends the
 * program without memory. */
void *exact_copy(const void *bytes, size_t size);

#endif
