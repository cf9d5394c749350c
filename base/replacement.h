/* SPDX-License-Identifier: MIT */
/*
 * A file that replaces another one when it is complete.
 *
 * It is written in the same folder under an unused name, and renamed when its bytes are on the
 * disk. So an interrupted program, a full disk or a loss of power leaves the old file, and a
 * program that has the old file open can still read it. A replacement that is never finished serves
 * as a temporary file.
 */
#ifndef BASE_REPLACEMENT_H
#define BASE_REPLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Zero-initialise it. */
struct replacement {
	char *path;      /* final path; owned */
	char *temporary; /* temporary path; owned; NULL after replacement_finish() */
};

/* Chooses a temporary name, which differs at each call; writes nothing. Call replacement_done()
 * also after a failure. */
bool replacement_init(struct replacement *replacement, const char *path, struct etw_error *err);

/* Renames the file, which must be closed, to its final path. It fails if memory ran out anywhere in
 * the program (base/memory.h), because the file may then be incomplete. The file keeps its rights,
 * which should be those of os_file_create(). The error does not contain the path. */
bool replacement_finish(struct replacement *replacement, struct etw_error *err);

/* Removes the temporary file, if the replacement was not finished, and frees the paths. */
void replacement_done(struct replacement *replacement);

/* Does all of the above for a file whose bytes are in memory. Only the owner may read the file, if
 * the system supports that. The error begins with the path. */
bool replacement_write_whole(const char *path, const char *bytes, size_t size,
			     struct etw_error *err);

#endif
