/* SPDX-License-Identifier: MIT */
/*
 * Makes manifests of EventSources, which arrive as events, in chunks.
 */
#ifndef SUPPORT_INBAND_MANIFEST_H
#define SUPPORT_INBAND_MANIFEST_H

#include <stdint.h>

#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/trace_schemas.h"
#include "lib/source/event_record.h"

struct inband_manifest {
	const struct etw_guid *provider;
	uint32_t process_id;
	int64_t time;
	const char *name;   /* name of the provider in the XML */
	const char *inside; /* XML in the element `provider`: events and templates */
};

/* Adds the XML. */
void inband_manifest_xml(struct etw_text *xml, const struct inband_manifest *manifest);

/* Calls look() with a chunk that has this part of the text. Its payload ends with its heap block.
 */
void announce_chunk(const struct inband_manifest *manifest, uint16_t number, uint16_t total,
		    const char *part, size_t size,
		    void (*look)(void *context, const struct etw_record *record), void *context);

/* Calls look() with two chunks, which have the whole manifest. */
void announce_chunks(const struct inband_manifest *manifest,
		     void (*look)(void *context, const struct etw_record *record), void *context);

/* Adds a manifest to the schemas of a recording. */
void announce_manifest(struct etw_trace_schemas *trace, const struct etw_guid *provider,
		       const char *name, const char *inside);

#endif
