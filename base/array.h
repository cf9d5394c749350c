/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow as items are added to them, a sort, and sets of records.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* ---- sorting ---- */

/*
 * Sorts items whose order comes from a recording and may be hostile, as qsort() does. Its time
 * grows with count * log(count) at most, and with count if the items are nearly in order. The time
 * of qsort() may grow with the square of count, because it is a quicksort on Windows, and in glibc
 * before 2.37 if the items take more than a quarter of the memory. Not stable.
 */
void sort_items(void *items, size_t count, size_t size,
		int (*compare)(const void *a, const void *b));

/* ---- sets of records ---- */

/*
 * A set of records of a recording, one bit for each record. A pass in time order fills it, and a
 * pass in file order reads it.
 */

/* Zero-initialise it. */
struct chosen {
	uint8_t *bits; /* owned */
	size_t size;   /* bytes */
};

/* Adds the record with this index in its file. Returns false when memory runs out. */
bool chosen_add(struct chosen *chosen, uint64_t index);

static inline bool chosen_has(const struct chosen *chosen, uint64_t index)
{
	return index / 8 < chosen->size && (chosen->bits[index / 8] >> index % 8 & 1) != 0;
}

void chosen_done(struct chosen *chosen);

#endif
