/* SPDX-License-Identifier: MIT */
/*
 * Where the manifests of a set come from: files that the configuration or the command line names,
 * and the ones that the program brings along (config/manifests).
 */
#ifndef DECODE_MANIFEST_LOAD_H
#define DECODE_MANIFEST_LOAD_H

#include <stdbool.h>

#include "base/error.h"
#include "config/config.h"
#include "decode/manifest/set.h"

/* What a run is given besides what its events tell. Zero-initialise it. */
struct configured_manifests {
	struct manifest_set *configured; /* NULL: none */
	struct manifest_set *builtin;    /* likewise */
};

/*
 * Adds a manifest to the configured ones, or those in a folder (*.man and *.xml, by name). What is
 * wrong with one reads "path:line:column: sentence" (ERROR_CONFIG).
 */
bool configured_manifests_add(struct configured_manifests *configured, const char *path,
			      struct error *err);

bool configured_manifests_add_builtin(struct configured_manifests *configured, struct error *err);

/* Those of the configuration, and the built-in ones: what counting uses. */
bool configured_manifests_load(struct configured_manifests *configured, const struct config *config,
			       struct error *err);
void configured_manifests_done(struct configured_manifests *configured);

#endif
