/* SPDX-License-Identifier: MIT */
/* TDH on systems other than Windows: it finds nothing. */
#include "lib/decode/tdh.h"

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
