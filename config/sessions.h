/* SPDX-License-Identifier: MIT */
/*
 * The `sessions:` part of the configuration.
 */
#ifndef CONFIG_SESSIONS_H
#define CONFIG_SESSIONS_H

#include "config/config.h"
#include "config/yaml_rows.h"

/* Read into the sessions of a struct config. */
extern const struct yaml_shape sessions_shape;

/* "Name:4:1,2", read into a struct provider_spec. */
extern const struct yaml_shape provider_text_shape;

/* The one private session that a configuration without sessions has. */
bool sessions_add_default(struct yaml_reader *in, struct config *config);
void sessions_free(struct config *config);

#endif
