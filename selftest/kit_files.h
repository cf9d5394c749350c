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
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* ---- fields of CSV (RFC 4180) ---- */

/* Adds a value without a separator. It is quoted if it must be or may be a path, because quotes
 * make the end of a path certain (kit_mask_add()). */
static inline void csv_add(struct etw_text *csv, const char *value)
{
	if (value[strcspn(value, ",\"\r\n\\/")] == '\0') {
		text_add_string(csv, value);
		return;
	}
	text_add_char(csv, '"');
	for (; *value; value++) {
		if (*value == '"') {
			text_add_char(csv, '"');
		}
		text_add_char(csv, *value);
	}
	text_add_char(csv, '"');
}

/* ---- pseudonyms ---- */

/*
 * Replaces names of the machine, of its users and in paths by pseudonyms, so that files can be
 * given to other people. Equal names get equal pseudonyms, in all texts of one mask.
 *
 * It replaces: the names that were given to kit_mask_name(), as whole words; security identifiers
 * of accounts (S-1-5-21-… and S-1-12-1-…); and each part of a path. A text counts as a path if it
 * has a backslash, or begins with a drive and a slash. A path keeps its separators, drives, the
 * names of devices, some folders that every Windows has, and the extension of its last part. Names
 * of programs outside of a path stay, and so do addresses.
 *
 * When in doubt a text is replaced: text that directly follows a path counts as a part of it, up to
 * a character that no name of a file can have, or whose meaning there is certain. One thread at a
 * time may use a mask.
 */

struct kit_mask;

struct kit_mask *kit_mask_new(void); /* NULL without memory */
void kit_mask_free(struct kit_mask *mask);

/* From now on the name is replaced by the pseudonym ("machine"). Names of fewer than two bytes are
 * ignored. False without memory. */
bool kit_mask_name(struct kit_mask *mask, const char *name, const char *pseudonym);

/* Adds the text with its names replaced. */
void kit_mask_add(struct kit_mask *mask, struct etw_text *out, const char *text, size_t size);

/* ---- the folder ---- */

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
