/* SPDX-License-Identifier: MIT */
/*
 * What Windows knows of events and providers: the schemas of registered manifests and MOF classes,
 * the names of registered providers.
 *
 * The last of the origins that events cannot change (schema_origins.h). Its answers become schemas
 * of ours, which our own decoder reads. One consumer's; elsewhere than on Windows it knows nothing.
 *
 * Registered providers are listed once. The name of one that is registered later comes with the
 * first answer about an event of it.
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
	 * Questions that TDH has no answer to, in a second: each costs some 100 µs (not measured),
	 * and a process can make up as many ids as it likes. Beyond what the events of one process
	 * may cost, or those of all, new kinds are asked about later; a few for each process always
	 * are at once, so that nobody waits for others' sake.
	 */
	TDH_VAIN_MOST = 256,
	TDH_VAIN_MOST_OF_ALL = 1024,
	TDH_VAIN_ALWAYS = 4,
};

struct tdh; /* opaque */

struct tdh *tdh_new(struct error *err);
void tdh_free(struct tdh *tdh); /* when nobody holds its schemas any more */

/* For schema_origins.system, good until tdh_free(). */
struct schema_system tdh_system(struct tdh *tdh);

#endif
