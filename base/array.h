/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow as items are added to them.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for one item after the `count` items of an array. A full array doubles its capacity.
 *
 * @items:     from malloc(), or NULL with a capacity of 0; the caller owns it.
 * @capacity:  in items; changed when the array is moved to a larger block.
 *
 * Returns the array, perhaps at another address; the room after its items is not initialised.
 * Returns NULL when memory runs out; the array and its capacity are then unchanged.
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
