/* SPDX-License-Identifier: MIT */
/*
 * Collectors and configurations to fuzz from: every word of the language, right and wrong.
 */
#ifndef SUPPORT_FUZZ_SEEDS_YAML_H
#define SUPPORT_FUZZ_SEEDS_YAML_H

#include <stddef.h>

struct fuzz_yaml_snippet {
	const char *name;
	const char *text;
};

extern const struct fuzz_yaml_snippet fuzz_yaml_snippets[];
extern const size_t fuzz_yaml_snippet_count;

#endif
