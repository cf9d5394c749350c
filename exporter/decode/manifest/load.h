/* SPDX-License-Identifier: MIT */
/*
 * Manifests that a run is given: those of the configuration and the command line, and those built
 * into the program (config/manifests).
 *
 * Filled before the first consumer starts and only read after, by any thread. A look-up in NULL, or
 * in a set that is empty, finds nothing.
 */
#ifndef DECODE_MANIFEST_LOAD_H
#define DECODE_MANIFEST_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "config/config.h"
#include "decode/manifest/manifest.h"
#include "decode/schema.h"

struct manifest_set; /* opaque */

struct manifest_set *manifest_set_new(struct error *err);
void manifest_set_free(struct manifest_set *set);

/*
 * Adds the providers of a manifest that have a GUID. The manifest becomes the set's, on failure
 * too. A provider may be in several manifests: the first one added that knows an event wins.
 */
bool manifest_set_add(struct manifest_set *set, struct manifest *manifest, struct error *err);

/* The schema of an event by id and version, as manifest_schema() finds it; NULL: none. The set's.
 */
const struct schema *manifest_set_schema(const struct manifest_set *set,
					 const struct guid *provider, uint16_t id, uint8_t version);

/* That of the latest version before this one, likewise. */
const struct schema *manifest_set_schema_older(const struct manifest_set *set,
					       const struct guid *provider, uint16_t id,
					       uint8_t version);

/* The providers that the set knows, those of several manifests more than once. */
struct manifest_set_provider {
	const struct guid *guid;
	const struct manifest *manifest;
	size_t index; /* in the manifest */
};

/* By number from 0; false behind the last. set: NULL for none. */
bool manifest_set_provider(const struct manifest_set *set, size_t number,
			   struct manifest_set_provider *provider);

/* The name that the first manifest of the provider gives it; NULL: none. */
const char *manifest_set_provider_name(const struct manifest_set *set, const struct guid *provider);

/* Manifests of a run, besides those that its events carry. Zero-initialise it. */
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
