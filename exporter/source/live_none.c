/* SPDX-License-Identifier: MIT */
/* Where there is no ETW. */
#include "source/live.h"

struct source *source_open_live(const struct live_options *options, struct error *err)
{
	(void)options;
	error_set(err, ERROR_UNSUPPORTED,
		  "live sessions need Windows; name a recording with --replay.file");
	return NULL;
}

void live_rescue(void)
{
}
