/* SPDX-License-Identifier: MIT */
/*
 * A sort for items of which a recording decides the order.
 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>

/*
 * What qsort() does, in a time that grows with count * log(count) for every order of the items, and
 * with count for those that are nearly in order. The time of qsort() may grow with the square of
 * count: on Windows it is a quicksort, and in glibc before 2.37 one if the items take more than a
 * quarter of the memory. Not stable.
 */
void sort_items(void *items, size_t count, size_t size,
		int (*compare)(const void *a, const void *b));

#endif
