/* SPDX-License-Identifier: MIT */
/*
 * Writes a YAML file by the tables from which it is read (config/yaml_rows.h), with the values that
 * keys have when the file lacks them.
 */
#ifndef CONFIG_YAML_PRINT_H
#define CONFIG_YAML_PRINT_H

#include "base/text.h"
#include "config/yaml_rows.h"

/* A value that counts in place of what the file says, such as one of the command line. */
struct yaml_override {
	const char *path; /* the keys from the root with dots between: "log.level" */
	const struct yaml_node *node;
};

struct yaml_overrides {
	const struct yaml_override *list;
	size_t count;
};

/*
 * Adds the file that the tree was read from by the shape of its root, a SHAPE_MAP without errors:
 * the keys in the order of the rows, in block style, without the comments. Keys that are absent
 * have their defaults, lists and maps that are absent are empty; keys without a fixed default are
 * left out. Paths of files are absolute. What is printed reads as the tree does, and prints as it
 * was.
 */
void yaml_print(struct etw_text *out, const struct yaml_shape *shape, const struct yaml_tree *tree,
		const struct yaml_overrides *overrides);

#endif
