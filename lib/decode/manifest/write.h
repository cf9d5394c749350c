/* SPDX-License-Identifier: MIT */
/*
 * Writes the manifest of one provider, so that another machine can decode its events: the opposite
 * of etw_manifest_read_checked(), which reads equal schemas from it.
 *
 * What the events of a recording do not need is left out: channels, messages of events, symbols
 * that compilers want. A writer belongs to one thread.
 */
#ifndef LIB_DECODE_MANIFEST_WRITE_H
#define LIB_DECODE_MANIFEST_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/manifest/manifest.h"

/* Every written manifest begins with this. */
#define ETW_MANIFEST_WRITER_START \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Written by etwtool. -->\n"

struct etw_manifest_writer; /* opaque */

struct etw_manifest_writer_counts {
	size_t events;
	size_t cut; /* of them, those without their last fields, which no manifest can describe */
};

struct etw_manifest_writer *etw_manifest_writer_new(const struct etw_guid *provider,
						    const char *name, struct etw_error *err);
void etw_manifest_writer_free(struct etw_manifest_writer *writer);

/* A keyword of the provider. Call it before the events that have it; others get a made-up name. */
void manifest_writer_keyword(struct etw_manifest_writer *writer, const char *name, uint64_t mask);

/* Nothing is kept of the event. One whose id and version the writer has already is left out. */
void manifest_writer_event(struct etw_manifest_writer *writer,
			   const struct etw_manifest_event *event);

/* All keywords and events of a provider. */
void etw_manifest_writer_provider(struct etw_manifest_writer *writer,
				  const struct etw_manifest *manifest, size_t index);

/* Finds the value map whose name is at an offset of a description; NULL: none. */
typedef const struct etw_value_map *
etw_manifest_writer_find_map(void *context, const struct etw_event_info *info, uint32_t name);

/* The event of a description with the source ETW_EVENT_INFO_MANIFEST. Returns false if it has
 * another one. */
bool etw_manifest_writer_info(struct etw_manifest_writer *writer, const struct etw_event_info *info,
			      etw_manifest_writer_find_map *find, void *context);

void etw_manifest_writer_count(const struct etw_manifest_writer *writer,
			       struct etw_manifest_writer_counts *counts);

/*
 * Adds the manifest to an empty text. Returns false if it is larger than a configured manifest may
 * be (MANIFEST_FILE_SIZE_MOST), or is not read back with all of its events.
 */
bool etw_manifest_writer_finish(struct etw_manifest_writer *writer, struct etw_text *xml,
				struct etw_error *err);

#endif
