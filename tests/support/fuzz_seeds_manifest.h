/* SPDX-License-Identifier: MIT */
/*
 * Manifests to fuzz from: short ones, with every element and attribute somewhere.
 */
#ifndef SUPPORT_FUZZ_SEEDS_MANIFEST_H
#define SUPPORT_FUZZ_SEEDS_MANIFEST_H

#include <stddef.h>

struct fuzz_manifest {
	const char *name;
	const char *text;
};

extern const struct fuzz_manifest fuzz_manifests[];
extern const size_t fuzz_manifest_count;

#endif
