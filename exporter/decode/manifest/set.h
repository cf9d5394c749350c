/* SPDX-License-Identifier: MIT */
/*
 * Manifests that somebody gave us: those of the configuration, or those built into the program.
 *
 * Filled before the first consumer starts and only read after, by any thread. A look-up in NULL, or
 * in a set that is empty, finds nothing.
 */
#ifndef DECODE_MANIFEST_SET_H
#define DECODE_MANIFEST_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "decode/manifest/xml.h"
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

#endif
