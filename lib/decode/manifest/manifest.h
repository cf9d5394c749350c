/* SPDX-License-Identifier: MIT */
/*
 * Instrumentation manifests: the XML that describes a provider's events.
 *
 * The reader takes from every provider: name and GUID; events with task, opcode, level, keywords,
 * symbol and template; templates with data and nested structures, counts and lengths by number or
 * by an earlier field; value maps and bit maps with their strings. It skips channels, messages of
 * events and filters, which do not describe a payload.
 *
 * Sources: "Writing an Instrumentation Manifest", "EventManifest Schema", Microsoft Learn;
 * docs/etl-format.md section 11.
 */
#ifndef LIB_DECODE_MANIFEST_MANIFEST_H
#define LIB_DECODE_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>

#include "base/error.h"
#include "base/guid.h"
#include "lib/decode/schema.h"

struct etw_manifest; /* opaque; immutable, so that any thread may read it */

size_t manifest_provider_count(const struct etw_manifest *manifest);

/* Returns false if the manifest has no valid GUID for the provider. */
bool manifest_provider_guid(const struct etw_manifest *manifest, size_t index,
			    struct etw_guid *guid);

/*
 * The layout of an event by id and version; in an in-band manifest, version 0 if there is no other.
 * Of several events with this id and version it is the first one with the opcode, else the first
 * one. NULL: there is none. The manifest owns it.
 */
const struct etw_schema *manifest_schema(const struct etw_manifest *manifest, size_t index,
					 uint16_t id, uint8_t version, uint8_t opcode);

/* The same without version 0 in the place of another. */
const struct etw_schema *manifest_schema_exact(const struct etw_manifest *manifest, size_t index,
					       uint16_t id, uint8_t version, uint8_t opcode);

/*
 * The layout of the latest version before this one; NULL: none. Versions mostly append fields, so
 * an older layout is better than none.
 */
const struct etw_schema *manifest_schema_older(const struct etw_manifest *manifest, size_t index,
					       uint16_t id, uint8_t version, uint8_t opcode);

/* Lists the keywords of a provider, as written: start with *at = 0. Returns false after the last.
 */
bool manifest_keyword(const struct etw_manifest *manifest, size_t index, size_t *at,
		      const char **name, uint64_t *mask);

#endif
