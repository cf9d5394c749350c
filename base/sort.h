/* SPDX-License-Identifier: MIT */
/*
 * A sort for items whose order comes from a recording and may be hostile.
 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>

/*
 * Sorts like qsort(). Its time grows with count * log(count) at most, and with count if the items
 * are nearly in order. The time of qsort() may grow with the square of count, because it is a
 * quicksort on Windows, and in glibc before 2.37 if the items take more than a quarter of the
 * memory. Not stable.
 */
void sort_items(void *items, size_t count, size_t size,
		int (*compare)(const void *a, const void *b));

#endif
