/* SPDX-License-Identifier: MIT */
/*
 * What fuzz_archive starts from.
 */
#ifndef SUPPORT_FUZZ_SEEDS_ARCHIVE_H
#define SUPPORT_FUZZ_SEEDS_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

struct archive_seed {
	const char *name;
	const uint8_t *bytes;
	size_t size;
};

extern const struct archive_seed archive_seeds[]; /* the last has no name */

#endif
