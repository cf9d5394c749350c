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

#include <etw/manifest.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/manifest/manifest.h"

struct etw_manifest_writer; /* opaque */

/* A keyword of the provider. Call it before the events that have it; others get a made-up name. */
void manifest_writer_keyword(struct etw_manifest_writer *writer, const char *name, uint64_t mask);

/* Nothing is kept of the event. One whose id and version the writer has already is left out. */
void manifest_writer_event(struct etw_manifest_writer *writer,
			   const struct etw_manifest_event *event);

#endif
