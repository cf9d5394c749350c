/* SPDX-License-Identifier: MIT */
/* TDH on systems other than Windows: it finds nothing. */
#include <etw/session.h>

#include "lib/decode/event_schema.h"

struct etw_tdh {
	char unused;
};

static struct etw_tdh nothing;

struct etw_tdh *etw_tdh_new(struct etw_error *err)
{
	(void)err;
	return &nothing;
}

void etw_tdh_free(struct etw_tdh *tdh)
{
	(void)tdh;
}

struct etw_schema_system etw_tdh_system(struct etw_tdh *tdh)
{
	(void)tdh;
	return (struct etw_schema_system){ .context = NULL };
}

/* ---- manifests ---- */

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
