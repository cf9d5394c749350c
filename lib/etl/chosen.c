/* SPDX-License-Identifier: MIT */
#include "lib/etl/chosen.h"

#include <stdlib.h>
#include <string.h>

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
