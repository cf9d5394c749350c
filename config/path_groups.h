/* SPDX-License-Identifier: MIT */
/*
 * The `path_groups:` part of the configuration.
 */
#ifndef CONFIG_PATH_GROUPS_H
#define CONFIG_PATH_GROUPS_H

#include "config/config.h"
#include "config/yaml.h"

/* In all groups together, as each path is held against all of them once. */
enum { PATH_GROUPS_MAX = 64, PATH_GROUP_GLOBS_MAX = 256, PATH_GROUP_NAME_MAX = 64 };

bool path_groups_read(const struct yaml_tree *tree, const struct yaml_node *node,
		      struct config *config, struct error *err);
void path_groups_free(struct config *config);

#endif
