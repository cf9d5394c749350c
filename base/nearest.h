/* SPDX-License-Identifier: MIT */
/*
 * Finds the known word that is most similar to an unknown one, for "did you mean …". The best is a
 * word that differs by one letter; then one that begins with the unknown word, as DiskIo begins
 * with Disk; then one that differs by more letters, at most about a third of the word.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Set word and size and zero the rest. Call nearest_offer() with every known word, then read best.
 */
struct nearest {
	const char *word;
	size_t size;
	unsigned most; /* the largest distance of a similar word; 0: about a third of the word, and
			  any for one that begins with it */
	const char *best;  /* the most similar word, borrowed from nearest_offer(); NULL: none is
			      similar */
	unsigned distance; /* letters to add, drop, change or swap to get from one word to the other
			    */
	bool begins;       /* best begins with the word */
};

/* Compares a known word. ASCII case does not matter. Words of more than 64 bytes are never similar,
 * and a word of less than three bytes is not treated as the beginning of another. */
void nearest_offer(struct nearest *nearest, const char *known);

#endif
