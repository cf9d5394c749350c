/* SPDX-License-Identifier: MIT */
/*
 * A set of records of a recording, one bit for each record. A pass in time order fills it, and a
 * pass in file order reads it.
 */
#ifndef BASE_CHOSEN_H
#define BASE_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
