/* SPDX-License-Identifier: MIT */
/*
 * Writes the files of the kit into a folder with an index. All texts are written here, so that
 * names are masked in all of them or in none.
 *
 * kit_files_failures() reports the files that could not be written; the others are written all the
 * same.
 */
#ifndef SELFTEST_KIT_FILES_H
#define SELFTEST_KIT_FILES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct kit_mask;
struct kit_files;

/*
 * Makes the folder, or uses one that is empty. In a folder that has files it makes a new folder,
 * run-2 and so on. mask: applied to each text, borrowed until kit_files_free(); NULL: names stay.
 */
struct kit_files *kit_files_open(const char *folder, struct kit_mask *mask, struct etw_error *err);
void kit_files_free(struct kit_files *files); /* NULL is fine */

const char *kit_files_folder(const struct kit_files *files);

/* Returns the path for a file that another program or function writes. The caller frees it. Returns
 * NULL without memory. */
char *kit_files_path(const struct kit_files *files, const char *name);

/* Adds an existing file to the index. what: one sentence about its contents, borrowed until
 * kit_files_free(). */
void kit_files_list(struct kit_files *files, const char *name, const char *what);

/* Writes a text to a file, adds the file to the index, and frees the text. */
void kit_files_write(struct kit_files *files, const char *name, const char *what,
		     struct etw_text *text);

/* Writes the index, README.txt. Call it after all other files are written. */
void kit_files_finish(struct kit_files *files);

/* Returns a line for each file that could not be written; "" if there is none. */
const char *kit_files_failures(const struct kit_files *files);

#endif
