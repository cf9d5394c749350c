/* SPDX-License-Identifier: MIT */
/* Outside Windows, where there is no ETW. */
#include "lib/live/live_source.h"

struct canary *canary_open(const char *version, struct error *err)
{
	(void)version;
	error_set(err, ERROR_UNSUPPORTED, "this system has no ETW");
	return NULL;
}

void canary_close(struct canary *canary)
{
	(void)canary;
}

struct source *source_open_live(const struct live_options *options, struct error *err)
{
	(void)options;
	error_set(err, ERROR_UNSUPPORTED,
		  "live sessions need Windows; name a recording with --replay.file");
	return NULL;
}

struct live_change *live_change_new(struct source *source, const struct live_options *options,
				    struct error *err)
{
	(void)source;
	(void)options;
	error_set(err, ERROR_UNSUPPORTED, "live sessions need Windows");
	return NULL;
}

void live_change_apply(struct live_change *change)
{
	(void)change;
}

void live_change_free(struct live_change *change)
{
	(void)change;
}

void live_emergency_stop(void)
{
}
