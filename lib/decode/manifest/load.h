/* SPDX-License-Identifier: MIT */
/*
 * Configured manifests: those of the configuration and the command line, and those built into the
 * program (config/manifests).
 *
 * A set is filled before the first consumer starts; after that, any thread may read it. A built-in
 * manifest is only read when it is first needed; without memory for it, its events have no schema,
 * which memory_note_loss() notes. A look-up in NULL, or in an empty set, finds nothing.
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
 * Adds the providers of a manifest that have a GUID. The set takes over the manifest, on failure
 * too. A provider may be in several manifests: the first added one that has an event wins.
 */
bool manifest_set_add(struct etw_manifest_set *set, struct etw_manifest *manifest,
		      struct etw_error *err);

#endif
