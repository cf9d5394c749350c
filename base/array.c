/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CAPACITY_MIN = 8 };

void *array_grow(void *items, size_t *capacity, size_t count, size_t item_size)
{
	size_t grown_capacity = *capacity < CAPACITY_MIN ? CAPACITY_MIN : *capacity;
	void *grown;

	if (items && count < *capacity) {
		return items;
	}
	while (grown_capacity <= count) {
		if (grown_capacity > SIZE_MAX / 2) {
			return NULL;
		}
		grown_capacity *= 2;
	}
	if (grown_capacity > SIZE_MAX / 2 / item_size) {
		return NULL;
	}
	grown = realloc(items, grown_capacity * item_size);
	if (grown) {
		*capacity = grown_capacity;
	} else {
		memory_note_loss();
	}
	return grown;
}

/* ---- sorting ---- */

/*
 * Items that are nearly in order, as buffers and records of a recording are, are sorted by
 * insertion. When that has taken more than some steps for each item, a heap sort takes over.
 * Neither method allocates memory, so the sort cannot fail.
 */

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

/* ---- sets of records ---- */

bool chosen_add(struct chosen *chosen, uint64_t index)
{
	uint64_t at = index / 8;

	if (at >= chosen->size) {
		size_t size = (size_t)at * 2 + 4096;
		uint8_t *bits = realloc(chosen->bits, size);

		if (!bits) {
			return false;
		}
		memset(bits + chosen->size, 0, size - chosen->size);
		chosen->bits = bits;
		chosen->size = size;
	}
	chosen->bits[at] |= (uint8_t)(1U << index % 8);
	return true;
}

void chosen_done(struct chosen *chosen)
{
	free(chosen->bits);
	*chosen = (struct chosen){ 0 };
}
