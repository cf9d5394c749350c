/* SPDX-License-Identifier: MIT */
/*
 * Instrumentation manifests: the XML that describes a provider's events.
 *
 * Understood: providers with their name and GUID; events with task, opcode, symbol and template;
 * templates with data and structures, counts and lengths by number or by an earlier field. Not yet:
 * maps, keywords and the string table.
 *
 * Sources: "Writing an Instrumentation Manifest", "EventManifest Schema", Microsoft Learn;
 * etl-format.md section 11.
 */
#ifndef DECODE_MANIFEST_XML_H
#define DECODE_MANIFEST_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "decode/schema.h"

struct manifest; /* opaque */

/*
 * Reads a manifest; NULL when it cannot be read or has no provider.
 *
 * The XML may be anybody's: a document type is refused, and with it entities; nesting, events,
 * templates and fields are bounded, what is beyond is left out. Size is the caller's.
 */
struct manifest *manifest_read(const char *xml, size_t size, struct error *err);
void manifest_free(struct manifest *manifest);

size_t manifest_provider_count(const struct manifest *manifest);

/* The name as written, maybe "". index is below the count. */
const char *manifest_provider_name(const struct manifest *manifest, size_t index);

/* False: the manifest does not say, or no GUID. */
bool manifest_provider_guid(const struct manifest *manifest, size_t index, struct guid *guid);

/*
 * The layout of an event by id and version, failing that of version 0; NULL when the manifest has
 * neither. The manifest's.
 */
const struct schema *manifest_schema(const struct manifest *manifest, size_t index, uint16_t id,
				     uint8_t version);

/* Memory that it takes, about. */
size_t manifest_bytes(const struct manifest *manifest);

#endif
