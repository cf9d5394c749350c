/* SPDX-License-Identifier: MIT */
/*
 * Sets of manifests: configured manifests (configuration and command line), and those built into
 * the program (config/manifests).
 *
 * A set is filled before the first consumer starts; after that, any thread may read it. A built-in
 * manifest is parsed when it is first needed. If there is no memory for it, its events have no
 * schema, and memory_note_loss() notes that. A look-up in NULL, or in an empty set, finds nothing.
 */
#ifndef LIB_DECODE_MANIFEST_LOAD_H
#define LIB_DECODE_MANIFEST_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>

#include "base/error.h"
#include "base/guid.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/schema.h"

enum { MANIFEST_FILE_SIZE_MOST = 16 << 20 };

struct etw_manifest_set; /* opaque */

struct etw_manifest_set *manifest_set_new(struct etw_error *err);
void manifest_set_free(struct etw_manifest_set *set);

/*
 * Adds the providers of a manifest that have a GUID. The set takes ownership of the manifest, also
 * on failure. If several manifests describe a provider, the first one added that has the event is
 * used.
 */
bool manifest_set_add(struct etw_manifest_set *set, struct etw_manifest *manifest,
		      struct etw_error *err);

#endif
