/* SPDX-License-Identifier: MIT */
#include "tests/support/exact_copy.h"

#include <stdlib.h>
#include <string.h>

void *exact_copy(const void *bytes, size_t size)
{
	void *copy = malloc(size);

	if (!copy) {
		/* Some malloc(0) give NULL; none of ours may. */
		copy = size == 0 ? malloc(1) : NULL;
		if (!copy) {
			abort();
		}
	}
	if (size > 0) {
		memcpy(copy, bytes, size);
	}
	return copy;
}
