/* SPDX-License-Identifier: MIT */
/*
 * Writes the manifest of one provider, so that another machine can decode the provider's events.
 * etw_manifest_read_checked() reads equal schemas from it.
 *
 * The manifest lacks what decoding does not need: channels, messages of events, and symbols for
 * compilers. Only one thread at a time may use a writer.
 */
#ifndef LIB_DECODE_MANIFEST_WRITE_H
#define LIB_DECODE_MANIFEST_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/manifest/manifest.h"

struct etw_manifest_writer; /* opaque */

/* Adds a keyword of the provider. Call it before the events that use the keyword; keywords without
 * a name get a made-up one. */
void manifest_writer_keyword(struct etw_manifest_writer *writer, const char *name, uint64_t mask);

/* Adds an event and borrows nothing of it. An event whose id and version were already added is left
 * out. */
void manifest_writer_event(struct etw_manifest_writer *writer,
			   const struct etw_manifest_event *event);

#endif
