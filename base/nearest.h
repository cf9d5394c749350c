/* SPDX-License-Identifier: MIT */
/*
 * "did you mean …": the known word that an unknown one resembles most. That is one that differs by
 * a letter; else one that begins with the unknown word, such as DiskIo with Disk; else one that
 * differs by more letters, about a third of the word at most.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise all but word and size; offer every known word, then look at best. */
struct nearest {
	const char *word;
	size_t size;
	const char *best;  /* as offered, NULL: nothing near; it must live until it is read */
	unsigned distance; /* letters to add, drop, change or swap */
	bool begins;       /* best begins with the word */
};

/* ASCII case does not matter. Words more than 64 bytes long are never near, and no word is taken
 * for the beginning of another if it has less than three. */
void nearest_offer(struct nearest *nearest, const char *known);

#endif
