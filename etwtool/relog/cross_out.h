/* SPDX-License-Identifier: MIT */
/*
 * Overwrites, in place, the file names and links in manifests, so that every chunk keeps its size.
 * Chunks of several manifests may alternate, and a chunk may end anywhere.
 */
#ifndef ETWTOOL_RELOG_CROSS_OUT_H
#define ETWTOOL_RELOG_CROSS_OUT_H

#include <etw/describe.h>
#include <etw/manifest.h>
#include <etw/record.h>

#include "base/map.h"

/* Zero-initialise it. One thread. */
struct cross_out {
	struct map manifests; /* hash of provider and process -> state of the search */
};

/*
 * Searches a chunk; call it in file order. xml is a writable copy of the chunk's text. Returns how
 * many values have ended in this chunk.
 */
unsigned cross_out_files(struct cross_out *cross_out, const struct etw_record *record,
			 const struct etw_manifest_chunk *chunk, char *xml);
void cross_out_done(struct cross_out *cross_out);

#endif
