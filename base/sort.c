/* SPDX-License-Identifier: MIT */
/*
 * Items that are nearly in order, as buffers and records of a recording are, are sorted by
 * insertion. When that has taken more than some steps for each item, a heap sort takes over.
 * Neither method allocates memory, so the sort cannot fail.
 */
#include "base/sort.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { STEPS = 16 }; /* most steps of the insertion sort for each item */

struct heap {
	uint8_t *items;
	size_t count;
	size_t size; /* bytes of an item */
	int (*compare)(const void *a, const void *b);
};

static uint8_t *item(const struct heap *heap, size_t i)
{
	return heap->items + i * heap->size;
}

static void exchange(const struct heap *heap, size_t a, size_t b)
{
	uint8_t *x = item(heap, a), *y = item(heap, b);
	uint8_t spare[64];

	for (size_t left = heap->size, step; left > 0; left -= step, x += step, y += step) {
		step = left < sizeof spare ? left : sizeof spare;
		memcpy(spare, x, step);
		memcpy(x, y, step);
		memcpy(y, spare, step);
	}
}

/* Sorts by insertion. Returns false if that takes too many steps. */
static bool insert_all(const struct heap *heap)
{
	size_t left = heap->count * STEPS;

	for (size_t i = 1; i < heap->count; i++) {
		for (size_t at = i; at > 0 && heap->compare(item(heap, at - 1), item(heap, at)) > 0;
		     at--) {
			if (left-- == 0) {
				return false;
			}
			exchange(heap, at - 1, at);
		}
	}
	return true;
}

/* Moves an item down until none below it is greater. */
static void sink(const struct heap *heap, size_t at)
{
	size_t child;

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    heap->compare(item(heap, child), item(heap, child + 1)) < 0) {
			child++;
		}
		if (heap->compare(item(heap, at), item(heap, child)) >= 0) {
			return;
		}
		exchange(heap, at, child);
		at = child;
	}
}

void sort_items(void *items, size_t count, size_t size,
		int (*compare)(const void *a, const void *b))
{
	struct heap heap = { .items = items, .count = count, .size = size, .compare = compare };

	if (insert_all(&heap)) {
		return;
	}
	for (size_t i = count / 2; i-- > 0;) {
		sink(&heap, i);
	}
	while (heap.count > 1) {
		heap.count--;
		exchange(&heap, 0, heap.count);
		sink(&heap, 0);
	}
}
