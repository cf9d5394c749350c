/* SPDX-License-Identifier: MIT */
/*
 * The manifests of registered providers, from Windows (TDH, the Trace Data Helper).
 *
 * Sources: "TdhEnumerateManifestProviderEvents function", "TdhGetManifestEventInformation
 * function", "TdhGetEventMapInformation function", "TdhEnumerateProviderFieldInformation function",
 * Microsoft Learn.
 */
#ifndef LIB_DECODE_TDH_MANIFESTS_H
#define LIB_DECODE_TDH_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/guid.h"
#include "lib/decode/manifest/write.h"

enum etw_tdh_events {
	ETW_TDH_EVENTS_ADDED,
	ETW_TDH_EVENTS_NONE,   /* Windows finds no manifest, or no event in it; err says why */
	ETW_TDH_EVENTS_FAILED, /* err likewise */
};

/*
 * Adds the keywords and events of a provider. Events that Windows lists but does not describe are
 * left out and added to *undescribed.
 */
enum etw_tdh_events etw_tdh_add_events(struct etw_manifest_writer *writer,
				       const struct etw_guid *provider, size_t *undescribed,
				       struct etw_error *err);

#endif
