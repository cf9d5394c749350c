/* SPDX-License-Identifier: MIT */
/*
 * The `sessions:` part of the configuration.
 */
#ifndef CONFIG_SESSIONS_H
#define CONFIG_SESSIONS_H

#include "config/config.h"
#include "config/yaml.h"

/* The one private session. */
bool sessions_default(struct config *config, struct error *err);

/* Reads the map in place of the default. */
bool sessions_read(const struct yaml_tree *tree, const struct yaml_node *node,
		   struct config *config, struct error *err);
void sessions_free(struct config *config);

#endif
