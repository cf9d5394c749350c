/* SPDX-License-Identifier: MIT */
#include "etl/heap.h"

#include <stdlib.h>

bool etl_heap_push(struct etl_heap *heap, struct etl_key key, struct etl_open *open)
{
	size_t at = heap->count;

	if (heap->count == heap->capacity) {
		size_t capacity = heap->capacity ? heap->capacity * 2 : 64;
		struct etl_heap_entry *entries =
			realloc(heap->entries, capacity * sizeof *heap->entries);

		if (!entries) {
			return false;
		}
		heap->entries = entries;
		heap->capacity = capacity;
	}
	heap->count++;
	while (at > 0 && etl_key_before(&key, &heap->entries[(at - 1) / 2].key)) {
		heap->entries[at] = heap->entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->entries[at] = (struct etl_heap_entry){ .key = key, .open = open };
	return true;
}

/* Lets an entry sink from the top to its place. */
static void sink(struct etl_heap *heap, struct etl_heap_entry entry)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= heap->count) {
			break;
		}
		if (child + 1 < heap->count &&
		    etl_key_before(&heap->entries[child + 1].key, &heap->entries[child].key)) {
			child++;
		}
		if (!etl_key_before(&heap->entries[child].key, &entry.key)) {
			break;
		}
		heap->entries[at] = heap->entries[child];
		at = child;
	}
	heap->entries[at] = entry;
}

void etl_heap_pop(struct etl_heap *heap)
{
	heap->count--;
	if (heap->count > 0) {
		sink(heap, heap->entries[heap->count]);
	}
}

void etl_heap_top_changed(struct etl_heap *heap)
{
	sink(heap, heap->entries[0]);
}

const struct etl_key *etl_heap_second(const struct etl_heap *heap)
{
	const struct etl_heap_entry *entries = heap->entries;

	if (heap->count < 2) {
		return NULL;
	}
	if (heap->count > 2 && etl_key_before(&entries[2].key, &entries[1].key)) {
		return &entries[2].key;
	}
	return &entries[1].key;
}

void etl_heap_done(struct etl_heap *heap)
{
	free(heap->entries);
	*heap = (struct etl_heap){ 0 };
}
