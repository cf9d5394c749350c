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
 * Returns the layout of an event by id and version. In an in-band manifest, version 0 stands for a
 * missing version. Of several events with this id and version, the first one with the opcode is
 * used, else the first one. Returns NULL if there is none. The manifest owns the layout.
 */
const struct etw_schema *manifest_schema(const struct etw_manifest *manifest, size_t index,
					 uint16_t id, uint8_t version, uint8_t opcode);

/* Like manifest_schema(), but version 0 does not stand for a missing version. */
const struct etw_schema *manifest_schema_exact(const struct etw_manifest *manifest, size_t index,
					       uint16_t id, uint8_t version, uint8_t opcode);

/*
 * Returns the layout of the latest version before this one; NULL if there is none. New versions
 * mostly append fields, so an older layout is better than none.
 */
const struct etw_schema *manifest_schema_older(const struct etw_manifest *manifest, size_t index,
					       uint16_t id, uint8_t version, uint8_t opcode);

/* Lists the keywords of a provider in the order of the manifest. Start with *at = 0, which the
 * function advances. Returns false after the last keyword. */
bool manifest_keyword(const struct etw_manifest *manifest, size_t index, size_t *at,
		      const char **name, uint64_t *mask);

#endif
