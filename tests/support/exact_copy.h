/* SPDX-License-Identifier: MIT */
/*
 * Copies test input into a heap block that ends with it, so that the sanitizers detect a read past
 * its end.
 */
#ifndef SUPPORT_EXACT_COPY_H
#define SUPPORT_EXACT_COPY_H

#include <stddef.h>

/* Returns a copy, which the caller frees. For size 0 it is a block of which no byte may be read,
 * not NULL. Ends the program if memory runs out. */
void *exact_copy(const void *bytes, size_t size);

#endif
