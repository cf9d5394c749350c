/* SPDX-License-Identifier: MIT */
/*
 * "did you mean …": the known word that an unknown one resembles most.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Zero-initialise all but word and size; offer every known word, then look at best. */
struct nearest {
	const char *word;
	size_t size;
	const char *best; /* as offered, NULL: nothing near; it must live until it is read */
	unsigned distance;
};

/* ASCII case does not matter. Words more than 64 bytes long are never near. */
void nearest_offer(struct nearest *nearest, const char *known);

#endif
