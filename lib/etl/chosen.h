/* SPDX-License-Identifier: MIT */
/*
 * A set of records of a recording, one bit each: what a pass in time order has chosen, for a pass
 * in file order.
 */
#ifndef LIB_ETL_CHOSEN_H
#define LIB_ETL_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise it. */
struct chosen {
	uint8_t *bits; /* owned */
	size_t size;   /* bytes */
};

/* Adds the record with this index in its file; false without memory. */
bool chosen_add(struct chosen *chosen, uint64_t index);

static inline bool chosen_has(const struct chosen *chosen, uint64_t index)
{
	return index / 8 < chosen->size && (chosen->bits[index / 8] >> index % 8 & 1) != 0;
}

void chosen_done(struct chosen *chosen);

#endif
