/* SPDX-License-Identifier: MIT */
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
