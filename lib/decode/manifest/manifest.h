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

#include "base/builtin_file.h"
#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/schema.h"

struct etw_manifest; /* opaque; immutable, so that any thread may read it */

/*
 * Reads a configured manifest: everything that etw_manifest_read() would leave out is an error.
 * Only faults that are also found in manifests of Windows itself are warnings: an event whose
 * template is missing is left out, the values of a missing map stay numbers, and of two events with
 * the same id, version and opcode the first one counts. warnings may be NULL.
 */
struct etw_manifest *manifest_read_checked(const char *xml, size_t size,
					   const struct etw_manifest_warnings *warnings,
					   struct etw_error *err);

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

/* ---- sets of manifests ---- */

/* The manifests of config/manifests, sorted by name; the build turns them into a C file
 * (cmake/embed.cmake). Any thread may read them. */
extern const struct builtin_file builtin_manifests[];
extern const size_t builtin_manifest_count;

/*
 * Sets of manifests: configured manifests (configuration and command line), and those built into
 * the program (config/manifests).
 *
 * A set is filled before the first consumer starts; after that, any thread may read it. A built-in
 * manifest is parsed when it is first needed. If there is no memory for it, its events have no
 * schema, and memory_note_loss() notes that. A look-up in NULL, or in an empty set, finds nothing.
 */

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

/* ---- writing a manifest ---- */

/*
 * Writes the manifest of one provider, so that another machine can decode the provider's events.
 * manifest_read_checked() reads equal schemas from it.
 *
 * The manifest lacks what decoding does not need: channels, messages of events, and symbols for
 * compilers. Only one thread at a time may use a writer.
 */

struct etw_manifest_writer; /* opaque */

/* Adds a keyword of the provider. Call it before the events that use the keyword; keywords without
 * a name get a made-up one. */
void manifest_writer_keyword(struct etw_manifest_writer *writer, const char *name, uint64_t mask);

/* Adds an event and borrows nothing of it. An event whose id and version were already added is left
 * out. */
void manifest_writer_event(struct etw_manifest_writer *writer,
			   const struct etw_manifest_event *event);

#endif
