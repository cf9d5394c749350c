/* SPDX-License-Identifier: MIT */
/*
 * The files that the kit leaves: a folder, an index, and one place where texts are written, so that
 * names are masked in all of them or in none.
 *
 * A file that cannot be written is a failure that failures() reports; the others go on.
 */
#ifndef SELFTEST_KIT_FILES_H
#define SELFTEST_KIT_FILES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct kit_mask;
struct kit_files;

/*
 * Makes the folder, or takes one that is empty. In one that has files already it makes a new
 * folder, run-2 and so on. mask: applied to each text; NULL: none; borrowed until kit_files_free().
 */
struct kit_files *kit_files_open(const char *folder, struct kit_mask *mask, struct etw_error *err);
void kit_files_free(struct kit_files *files); /* NULL is allowed */

const char *kit_files_folder(const struct kit_files *files);

/* The path of a file that another program or function writes, to be freed; NULL without memory. */
char *kit_files_path(const struct kit_files *files, const char *name);

/* Puts a file into the index that is there already. what: what it says, one sentence; valid until
 * kit_files_free(). */
void kit_files_list(struct kit_files *files, const char *name, const char *what);

/* Writes and lists a text, and frees it. */
void kit_files_write(struct kit_files *files, const char *name, const char *what,
		     struct etw_text *text);

/* Writes README.txt, the index; after all others. */
void kit_files_finish(struct kit_files *files);

/* A line for each file that could not be written; "" for none. */
const char *kit_files_failures(const struct kit_files *files);

#endif
