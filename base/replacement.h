/* SPDX-License-Identifier: MIT */
/*
 * A file that takes the place of another one when it is whole.
 *
 * It is written beside its place, under a name that nothing else uses, and renamed when it is on
 * the disk. So a program that is interrupted, a full disk, or a loss of power leaves what was there
 * before, and a file that another program has open stays readable. A file that is needed only
 * meanwhile is one that never gets its place.
 */
#ifndef BASE_REPLACEMENT_H
#define BASE_REPLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Zero-initialise it. */
struct replacement {
	char *path;      /* where the file will be; owned */
	char *temporary; /* where it is written; owned; NULL when it has its place */
};

/* Chooses the temporary name, another one at each call; nothing is written. On failure
 * replacement_done() is due as well. */
bool replacement_init(struct replacement *replacement, const char *path, struct etw_error *err);

/* Gives the file its place; it must be closed. Not if the program has lacked memory for something
 * (base/memory.h): the file may look whole without it. It keeps the rights that it was created
 * with, which are to be those of os_file_create(). The error names no path. */
bool replacement_finish(struct replacement *replacement, struct etw_error *err);

/* Removes the file if it has not got its place. */
void replacement_done(struct replacement *replacement);

/* All of it for a file whose bytes are at hand; only its owner may read it, if the system knows
 * that. The error begins with the path. */
bool replacement_write_whole(const char *path, const char *bytes, size_t size,
			     struct etw_error *err);

#endif
