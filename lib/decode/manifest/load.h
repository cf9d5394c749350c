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

/*
 * The schema of an event by id, version and opcode, as manifest_schema() finds it, or, with
 * `older`, as manifest_schema_older() does; NULL: none. The set owns it.
 */
const struct etw_schema *etw_manifest_set_schema(const struct etw_manifest_set *set,
						 const struct etw_guid *provider, uint16_t id,
						 uint8_t version, uint8_t opcode, bool older);

/* A provider of the set. One that is in several manifests is listed once for each. */
struct etw_manifest_set_provider {
	const struct etw_guid *guid;
	const char *name; /* as etw_manifest_provider_name() */
};

/* Lists the providers by number from 0. Returns false after the last. set may be NULL. */
bool etw_manifest_set_provider(const struct etw_manifest_set *set, size_t number,
			       struct etw_manifest_set_provider *provider);

/* How many etw_manifest_set_provider() lists. set may be NULL. */
size_t etw_manifest_set_provider_count(const struct etw_manifest_set *set);

/* The manifest of a provider that was listed, and the provider's index in it; NULL without memory.
 */
const struct etw_manifest *etw_manifest_set_manifest(const struct etw_manifest_set *set,
						     size_t number, size_t *index);

/* The name of the provider in its first manifest; NULL: none. */
const char *etw_manifest_set_provider_name(const struct etw_manifest_set *set,
					   const struct etw_guid *provider);

/* The manifests that users name and the built-in ones; in-band manifests are not among them.
 * Zero-initialise it. */
struct etw_configured_manifests {
	struct etw_manifest_set *configured; /* NULL: none */
	struct etw_manifest_set *builtin;    /* likewise */
	struct manifest_warnings warnings;   /* "path:line:column: warning: sentence" */
};

/*
 * Adds a manifest, or all manifests in a folder (*.man and *.xml, in the order of names). Errors
 * read "path:line:column: sentence" (ETW_ERROR_CONFIG). A file of a folder that cannot be read is
 * left out with a warning; `several`: this holds for the file of the path, too, because a pattern
 * found it.
 */
bool etw_configured_manifests_add(struct etw_configured_manifests *configured, const char *path,
				  bool several, struct etw_error *err);

bool etw_configured_manifests_add_builtin(struct etw_configured_manifests *configured,
					  struct etw_error *err);

void etw_configured_manifests_done(struct etw_configured_manifests *configured);

#endif
