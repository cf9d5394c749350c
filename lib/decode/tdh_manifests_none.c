/* SPDX-License-Identifier: MIT */
#include "lib/decode/tdh_manifests.h"

#include "lib/live/running.h"

enum etw_tdh_events etw_tdh_add_events(struct etw_manifest_writer *writer,
				       const struct etw_guid *provider, size_t *undescribed,
				       struct etw_error *err)
{
	(void)writer;
	(void)provider;
	(void)undescribed;
	etw_here(err);
	return ETW_TDH_EVENTS_FAILED;
}
