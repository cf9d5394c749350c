/* SPDX-License-Identifier: MIT */
/*
 * `payload:` of a provider in `sessions:`: conditions on fields of its events.
 */
#ifndef CONFIG_SESSION_PAYLOAD_H
#define CONFIG_SESSION_PAYLOAD_H

#include <stdbool.h>

#include "base/error.h"
#include "config/yaml.h"
#include "source/provider_spec.h"

/* On failure what was read stays with the spec, to be freed with it. */
bool session_payload_read(const struct yaml_tree *tree, const struct yaml_node *node,
			  struct provider_spec *spec, struct error *err);

#endif
