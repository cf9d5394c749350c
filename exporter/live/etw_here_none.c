/* SPDX-License-Identifier: MIT */
#include "live/running.h"

bool etw_here(struct error *err)
{
	return error_set(err, ERROR_UNSUPPORTED, "only Windows has event tracing sessions");
}
