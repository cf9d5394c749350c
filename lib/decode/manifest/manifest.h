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

#include "base/error.h"
#include "base/guid.h"
#include "lib/decode/schema.h"

struct etw_manifest; /* opaque; immutable, so that any thread may read it */

/*
 * Reads an in-band manifest and accepts what is valid in it: a template ends before a field that is
 * not understood, and invalid elements are left out. Returns NULL if it is not XML or has no
 * provider; errors read "line:column: sentence". The encoding is UTF-8 or UTF-16.
 *
 * The XML may come from any process. A document type, and with it entities, is refused. Nesting,
 * events, templates and fields are bounded, and the rest is left out. The caller limits the size.
 */
struct etw_manifest *etw_manifest_read(const char *xml, size_t size, struct etw_error *err);

/* Takes "line:column: warning: sentence" for each place; a NULL function: they are dropped. */
struct manifest_warnings {
	void (*warn)(void *context, const char *sentence);
	void *context;
};

/*
 * The same for a configured manifest: everything that would be left out is an error, except what
 * manifests have that Windows itself wrote. An event whose template is missing is left out, the
 * values of a map that is missing stay numbers, and of two events with one id, version and opcode
 * the first counts. Each of these is a warning. warnings may be NULL.
 */
struct etw_manifest *etw_manifest_read_checked(const char *xml, size_t size,
					       const struct manifest_warnings *warnings,
					       struct etw_error *err);
void etw_manifest_free(struct etw_manifest *manifest);

size_t manifest_provider_count(const struct etw_manifest *manifest);

/* The name as written; it can be "". index is below the count. */
const char *etw_manifest_provider_name(const struct etw_manifest *manifest, size_t index);

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

struct etw_manifest_event {
	const struct etw_schema *schema;     /* borrowed from the manifest, like the names */
	const char *task_name, *opcode_name; /* as written; NULL: none */
	uint64_t keywords;
	uint16_t id;
	uint16_t task; /* the number is 0 if the manifest does not define the name */
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
};

/* Lists the events of a provider by number from 0, by id and version. Returns false after the last.
 */
bool etw_manifest_event(const struct etw_manifest *manifest, size_t index, size_t number,
			struct etw_manifest_event *event);

/* Lists the keywords of a provider, as written: start with *at = 0. Returns false after the last.
 */
bool manifest_keyword(const struct etw_manifest *manifest, size_t index, size_t *at,
		      const char **name, uint64_t *mask);

/* The memory that it takes, approximately. */
size_t etw_manifest_bytes(const struct etw_manifest *manifest);

#endif
