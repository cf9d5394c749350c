/* SPDX-License-Identifier: MIT */
/* Where there is no event log. */
#include "windows/event_log.h"

static bool fail(struct error *err)
{
	return error_set(err, ERROR_UNSUPPORTED, "the event log is that of Windows");
}

bool event_log_register(const char *program, struct error *err)
{
	(void)program;
	return fail(err);
}

bool event_log_unregister(struct error *err)
{
	return fail(err);
}

bool event_log_open(struct error *err)
{
	return fail(err);
}

void event_log_close(void)
{
}
