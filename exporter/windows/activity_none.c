/* SPDX-License-Identifier: MIT */
/* Where there is no ETW to see it. */
#include "windows/activity.h"

bool activity_run(void *context, struct activity *done, struct error *err)
{
	(void)context;
	(void)done;
	return error_set(err, ERROR_UNSUPPORTED, "the self-test needs Windows");
}

char *activity_process(void)
{
	static const char name[] = "etw_exporter";

	return text_duplicate(name, sizeof name - 1);
}
