/* SPDX-License-Identifier: MIT */
/*
 * Replaces names of the machine, of its users and in paths by pseudonyms, so that files can be
 * given to other people. Equal names get equal pseudonyms, in all texts of one mask.
 *
 * Replaced are: the names that kit_mask_name() was called with, as whole words; security
 * identifiers of accounts (S-1-5-21-… and S-1-12-1-…); and each part of what looks like a path,
 * which is what has a backslash, or begins with a drive and a slash. Of a path stay its separators,
 * drives, the names of devices, some folders that every Windows has, and the extension of its last
 * part. Names of programs that do not stand in a path stay, as do addresses.
 *
 * When in doubt a text is replaced: what follows a path without a separator is taken for a part of
 * it, up to a character that no name of a file can have, or whose meaning there is certain. One
 * thread at a time.
 */
#ifndef SELFTEST_KIT_MASK_H
#define SELFTEST_KIT_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct kit_mask;

struct kit_mask *kit_mask_new(void); /* NULL without memory */
void kit_mask_free(struct kit_mask *mask);

/* From now on the name is replaced by the pseudonym ("machine"). Names of fewer than two bytes are
 * ignored. False without memory. */
bool kit_mask_name(struct kit_mask *mask, const char *name, const char *pseudonym);

/* Adds the text with its names replaced. */
void kit_mask_add(struct kit_mask *mask, struct etw_text *out, const char *text, size_t size);

#endif
