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
#include "decode/manifest_set.h"

/* What a run is given besides what its events tell. Zero-initialise it. */
struct given_manifests {
	struct manifest_set *configured; /* NULL: none */
	struct manifest_set *builtin;    /* likewise */
};

/*
 * Adds a manifest to the configured ones, or those in a folder (*.man and *.xml, by name). What is
 * wrong with one reads "path:line:column: sentence" (ERROR_CONFIG).
 */
bool given_manifests_add(struct given_manifests *given, const char *path, struct error *err);

bool given_manifests_add_builtin(struct given_manifests *given, struct error *err);

/* Those of the configuration, and the built-in ones: what counting uses. */
bool given_manifests_load(struct given_manifests *given, const struct config *config,
			  struct error *err);
void given_manifests_done(struct given_manifests *given);

#endif
