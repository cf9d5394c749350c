/* SPDX-License-Identifier: MIT */
/* Systems other than Windows have no ETW: live sessions cannot be opened, and nothing runs. */
#include <etw/session.h>

#include "base/error.h"

struct etw_canary *etw_canary_open(const char *version, struct etw_error *err)
{
	(void)version;
	error_set(err, ETW_ERROR_UNSUPPORTED, "this system has no ETW");
	return NULL;
}

void etw_canary_close(struct etw_canary *canary)
{
	(void)canary;
}

struct etw_source *etw_source_open_live(const struct etw_live_options *options,
					struct etw_error *err)
{
	(void)options;
	error_set(err, ETW_ERROR_UNSUPPORTED, "live sessions need Windows");
	return NULL;
}

struct etw_live_change *etw_live_change_new(struct etw_source *source,
					    const struct etw_live_options *options,
					    struct etw_error *err)
{
	(void)source;
	(void)options;
	error_set(err, ETW_ERROR_UNSUPPORTED, "live sessions need Windows");
	return NULL;
}

void etw_live_change_apply(struct etw_live_change *change)
{
	(void)change;
}

void etw_live_change_free(struct etw_live_change *change)
{
	(void)change;
}

void etw_live_emergency_stop(void)
{
}

bool etw_running_read(struct etw_running_sessions *sessions, struct etw_error *err)
{
	(void)sessions;
	return etw_here(err);
}

bool etw_registered_read(struct etw_registered_providers *providers, struct etw_error *err)
{
	(void)providers;
	return etw_here(err);
}
