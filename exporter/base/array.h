/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow as items are added to them.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for one item behind the count items of an array, whose capacity doubles when it is
 *full.
 *
 * @items:     from malloc() or NULL, which goes with a capacity of 0; owned by the caller as
 *before.
 * @capacity:  in items; changed when the array was moved to a larger block.
 *
 * Returns the array, perhaps at another address; what is behind its count items is not initialised.
 * Returns NULL without memory; the array and its capacity are then as they were.
 *
 *	grown = array_grow(list->items, &list->capacity, list->count, sizeof *grown);
 *	if (!grown) {
 *		return error_no_memory(err, "the list");
 *	}
 *	list->items = grown;
 *	list->items[list->count++] = item;
 */
void *array_grow(void *items, size_t *capacity, size_t count, size_t item_size);

#endif
