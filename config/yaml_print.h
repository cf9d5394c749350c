/* SPDX-License-Identifier: MIT */
/*
 * Writes a YAML file by the tables that read it (config/yaml_rows.h), with the defaults of the keys
 * that the file lacks.
 */
#ifndef CONFIG_YAML_PRINT_H
#define CONFIG_YAML_PRINT_H

#include "base/text.h"
#include "config/yaml_rows.h"

/* A value that replaces that of the file, such as one of the command line. */
struct yaml_override {
	const char *path; /* the keys from the root, with dots between them: "log.level" */
	const struct yaml_node *node;
};

struct yaml_overrides {
	const struct yaml_override *list;
	size_t count;
};

/*
 * Appends the YAML text of a tree. shape: that of its root, a SHAPE_MAP; the tree must have no
 * errors. Keys are in the order of the rows, in block style, without comments. Absent keys are
 * printed with their defaults, absent lists and maps are empty; keys without a fixed default are
 * left out. Paths of files are absolute. The printed text reads as the same tree, and prints as the
 * same text.
 */
void yaml_print(struct etw_text *out, const struct yaml_shape *shape, const struct yaml_tree *tree,
		const struct yaml_overrides *overrides);

#endif
