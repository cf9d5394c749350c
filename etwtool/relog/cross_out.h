/* SPDX-License-Identifier: MIT */
/*
 * Crosses out the files and links that manifests name, in their place, so that every chunk keeps
 * its size. Chunks of several manifests may alternate, and a chunk may end anywhere.
 */
#ifndef ETWTOOL_RELOG_CROSS_OUT_H
#define ETWTOOL_RELOG_CROSS_OUT_H

#include <etw/describe.h>
#include <etw/manifest.h>
#include <etw/record.h>

#include "base/map.h"

/* Zero-initialise it. One thread. */
struct cross_out {
	struct map manifests; /* hash of provider and process -> how far the search is */
};

/*
 * Shows it a chunk, in file order. xml: a copy of what the chunk has, to be changed. Returns how
 * many values have ended in this chunk.
 */
unsigned cross_out_files(struct cross_out *cross_out, const struct etw_record *record,
			 const struct etw_manifest_chunk *chunk, char *xml);
void cross_out_done(struct cross_out *cross_out);

#endif
