/* SPDX-License-Identifier: MIT */
/* Systems other than Windows have no ETW: nothing runs. */
#include <etw/session.h>

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
