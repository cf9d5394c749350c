/* SPDX-License-Identifier: MIT */
/*
 * Instrumentation manifests: the XML that describes a provider's events.
 *
 * Understood of every provider: name and GUID; events with task, opcode, level, keywords, symbol
 * and template; templates with data and structures in structures, counts and lengths by number or
 * by an earlier field; value maps and bit maps with their strings. Channels, messages of events
 * and filters say nothing about a payload and are passed over.
 *
 * Sources: "Writing an Instrumentation Manifest", "EventManifest Schema", Microsoft Learn;
 * docs/etl-format.md section 11.
 */
#ifndef DECODE_MANIFEST_MANIFEST_H
#define DECODE_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "decode/schema.h"

struct manifest; /* opaque; immutable, so that any thread may read it */

/*
 * Reads a manifest that came with events, taken as found: fields end where one is not understood,
 * what makes no sense is left out. NULL when it is no XML or has no provider; errors read
 * "line:column: sentence". In UTF-8 or UTF-16.
 *
 * The XML may be anybody's: a document type is refused, and with it entities; nesting, events,
 * templates and fields are bounded, what is beyond is left out. Size is the caller's.
 */
struct manifest *manifest_read(const char *xml, size_t size, struct error *err);

/*
 * The same for a manifest that somebody gives us: whatever would be left out is an error.
 */
struct manifest *manifest_read_checked(const char *xml, size_t size, struct error *err);
void manifest_free(struct manifest *manifest);

size_t manifest_provider_count(const struct manifest *manifest);

/* The name as written, maybe "". index is below the count. */
const char *manifest_provider_name(const struct manifest *manifest, size_t index);

/* False: the manifest does not say, or no GUID. */
bool manifest_provider_guid(const struct manifest *manifest, size_t index, struct guid *guid);

/*
 * The layout of an event by id and version; of a manifest taken as found failing that of version 0.
 * NULL: there is none. The manifest's.
 */
const struct schema *manifest_schema(const struct manifest *manifest, size_t index, uint16_t id,
				     uint8_t version);

/*
 * That of the latest version before this one, NULL: none. Versions mostly append fields, so where
 * nobody knows the right one it is better than nothing.
 */
const struct schema *manifest_schema_older(const struct manifest *manifest, size_t index,
					   uint16_t id, uint8_t version);

struct manifest_event {
	const struct schema *schema; /* the manifest's */
	uint64_t keywords;
	uint16_t id;
	uint16_t task; /* numbers of names that the manifest does not explain are 0 */
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
};

/* The events of a provider by number from 0, ordered by id and version; false behind the last. */
bool manifest_event(const struct manifest *manifest, size_t index, size_t number,
		    struct manifest_event *event);

/* The keywords of a provider one by one, as written: start with *at = 0; false behind the last. */
bool manifest_keyword(const struct manifest *manifest, size_t index, size_t *at, const char **name,
		      uint64_t *mask);

/* Memory that it takes, about. */
size_t manifest_bytes(const struct manifest *manifest);

#endif
