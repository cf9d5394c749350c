/* SPDX-License-Identifier: MIT */
/* TDH on systems other than Windows: it finds nothing. */
#include "lib/decode/tdh.h"

struct tdh {
	char unused;
};

static struct tdh nothing;

struct tdh *tdh_new(struct error *err)
{
	(void)err;
	return &nothing;
}

void tdh_free(struct tdh *tdh)
{
	(void)tdh;
}

struct schema_system tdh_system(struct tdh *tdh)
{
	(void)tdh;
	return (struct schema_system){ .context = NULL };
}
