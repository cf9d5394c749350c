/* SPDX-License-Identifier: MIT */
/*
 * What Windows knows of events and providers: the schemas of registered manifests and MOF classes,
 * the names of registered providers.
 *
 * The last of the origins that events cannot change (schema_origins.h). Its answers become schemas
 * of ours, which our own decoder reads. One consumer's; elsewhere than on Windows it knows nothing.
 *
 * Sources: "TdhGetEventInformation function", "TdhGetEventMapInformation function", Microsoft
 * Learn.
 */
#ifndef DECODE_TDH_H
#define DECODE_TDH_H

#include "base/error.h"
#include "decode/schema_origins.h"

enum {
	TDH_SCHEMAS_MOST = 1 << 14,
	TDH_BYTES_MOST = 64 << 20,
	/*
	 * Questions that TDH has no answer to, for the events of one process in a second: each
	 * costs some 100 µs (not measured), and a process can make up as many ids as it likes.
	 * Beyond that its new kinds of events are not asked about.
	 */
	TDH_VAIN_MOST = 256,
};

struct tdh; /* opaque */

struct tdh *tdh_new(struct error *err);
void tdh_free(struct tdh *tdh); /* when nobody holds its schemas any more */

/* For schema_origins.system, good until tdh_free(). */
struct schema_system tdh_system(struct tdh *tdh);

#endif
