/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

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
