/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <string.h>

#include "base/text.h"

enum { WORD_SIZE_MAX = 64, BEGINNING_SIZE_MIN = 3 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Computes the optimal string alignment distance; only three rows of the matrix are kept. A result
 * above `most` may be too low: a cell depends on the two rows before it, so the rest does not
 * matter when all of these are above `most`.
 */
static unsigned edits(const char *a, size_t a_size, const char *b, size_t b_size, unsigned most)
{
	unsigned rows[3][WORD_SIZE_MAX + 1], lowest = 0;

	for (size_t j = 0; j <= b_size; j++) {
		rows[0][j] = (unsigned)j;
	}
	for (size_t i = 1; i <= a_size; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3],
			 *before = rows[(i + 1) % 3];
		unsigned lowest_above = lowest;

		lowest = row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_size; j++) {
			char x = ascii_lower(a[i - 1]), y = ascii_lower(b[j - 1]);

			row[j] = least(least(above[j], row[j - 1]) + 1,
				       above[j - 1] + (x == y ? 0 : 1));
			if (i > 1 && j > 1 && x == ascii_lower(b[j - 2]) &&
			    y == ascii_lower(a[i - 2])) {
				row[j] = least(row[j], before[j - 2] + 1);
			}
			lowest = least(lowest, row[j]);
		}
		if (lowest > most && lowest_above > most) {
			return lowest;
		}
	}
	return rows[a_size % 3][b_size];
}

/* Returns a rank; lower is more similar. A word that begins with the other one ranks between a
 * distance of one letter and one of two. */
static unsigned rank(unsigned distance, bool begins)
{
	return begins && distance > 1 ? 3 : 2 * distance;
}

static bool is_nearer(const struct nearest *nearest, unsigned distance, bool begins)
{
	unsigned best = rank(nearest->distance, nearest->begins);
	unsigned offered = rank(distance, begins);

	return !nearest->best || offered < best ||
	       (offered == best && distance < nearest->distance);
}

void nearest_offer(struct nearest *nearest, const char *known)
{
	size_t size = nearest->size;
	size_t known_size = strlen(known);
	size_t longer = size > known_size ? size - known_size : known_size - size;
	unsigned most = nearest->most > 0 ? nearest->most : (unsigned)(size + 2) / 3, distance;
	bool begins;

	if (size > WORD_SIZE_MAX || known_size > WORD_SIZE_MAX || size == 0) {
		return;
	}
	begins = size >= BEGINNING_SIZE_MIN && (nearest->most == 0 || longer <= most) &&
		 text_starts_nocase(known, known_size, nearest->word, size);
	/* The distance is at least the difference of the lengths. Checking that first saves time,
	 * because all event classes of a recording are offered for every rule. */
	if (longer > most && !begins) {
		return;
	}
	distance = begins ? (unsigned)longer : edits(nearest->word, size, known, known_size, most);
	if ((begins || distance <= most) && is_nearer(nearest, distance, begins)) {
		nearest->best = known;
		nearest->distance = distance;
		nearest->begins = begins;
	}
}
