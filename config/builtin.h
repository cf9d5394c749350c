/* SPDX-License-Identifier: MIT */
/*
 * What the program brings along: the text of every collector in config/collectors and of every
 * manifest in config/manifests, put into C files by config/builtin.cmake when the program is built.
 */
#ifndef CONFIG_BUILTIN_H
#define CONFIG_BUILTIN_H

#include <stddef.h>

struct builtin_file {
	const char *name; /* file name without ".yaml" or ".man", e.g. "disk" */
	const char *text; /* NUL-terminated */
	size_t size;      /* of text in bytes, without the NUL */
};

/* In the order of their names. Constant, any thread may read. */
extern const struct builtin_file builtin_collectors[];
extern const size_t builtin_collector_count;
extern const struct builtin_file builtin_manifests[];
extern const size_t builtin_manifest_count;

#endif
