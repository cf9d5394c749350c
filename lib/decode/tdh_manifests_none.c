/* SPDX-License-Identifier: MIT */
#include <etw/describe.h>
#include <etw/session.h>

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
